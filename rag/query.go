package rag

// Limits of a query; what goes beyond them is cut, never refused.
const (
	DefaultK       = 30       // items when Query.K is 0
	MaxK           = 500      // items at most
	MaxQueryBytes  = 32 << 10 // of Query.Text
	MaxFocusPaths  = 200      // of each list in Focus
	DefaultPerFile = 12       // snippets of one file when Query.SnippetsPerFile is 0
)

// Query is what to look for.
type Query struct {
	Text  string `json:"query"`       // prose, code or both; its first line counts double
	K     int    `json:"k,omitempty"` // items wanted; 0 is DefaultK
	Focus Focus  `json:"focus,omitzero"`
	// SnippetsPerFile bounds how many spans of one file may be returned.
	SnippetsPerFile int     `json:"snippetsPerFile,omitempty"`
	Filters         Filters `json:"filters,omitzero"`
	// Without switches rankers off by name, and by "trust" what the past says of each
	// word (see trust.go); for ablation and for diagnosis.
	Without []string `json:"without,omitempty"`
}

// Focus is what the person is looking at. All paths are relative to the root.
type Focus struct {
	Open      []string   `json:"open,omitempty"`
	Visible   []string   `json:"visible,omitempty"`
	Recent    []string   `json:"recent,omitempty"` // edited lately, latest first
	Selection *Selection `json:"selection,omitempty"`
	// Scope holds paths, globs, modules or symbols the person named as the
	// place to work in: it lifts what is inside, it excludes nothing.
	Scope []string `json:"scope,omitempty"`
}

// Selection is a range of lines, 1-based and inclusive.
type Selection struct {
	Path      string `json:"path"`
	StartLine int    `json:"start_line"`
	EndLine   int    `json:"end_line"`
}

// Filters exclude. Globs are path.Match patterns over the whole path, or over
// the base name when they hold no slash; "dir/**" means everything below dir.
type Filters struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}
