package rag

import "context"

// File is what a Source knows of a file without reading it.
type File struct {
	Path    string // relative to the root, with slashes
	Size    int64  // bytes
	ModTime int64  // nanoseconds since 1970; for an unsaved buffer, anything that changes with it
}

// Source is the workspace as rag needs it. It decides what may be indexed at
// all: ignored, binary, huge and secret files never come through it.
//
// Its methods are called from several goroutines at once.
type Source interface {
	// Root is the absolute directory; git is asked there for the history.
	Root() string
	// Files lists the files that may be indexed, sorted by path. With paths
	// it looks only at these (files, or folders with all below them); one that
	// is gone or may not be indexed is absent from the answer.
	Files(ctx context.Context, paths []string) ([]File, error)
	// Read gives a file's text as it is now, unsaved buffers included.
	Read(path string) ([]byte, error)
}
