package workspace

// Workspace is the files below some roots, and the editor's buffers over them.
type Workspace struct{}
