package rag

// States of an index.
const (
	StateIndexing = "indexing" // answers come from what is there already
	StateReady    = "ready"
	StateDegraded = "degraded" // it answers, with something missing; Message says what
)

// Status is the progress of the index, in the shape of the agent/index notification.
type Status struct {
	State      string `json:"state"`
	Files      int    `json:"files"`  // indexed now
	Chunks     int    `json:"chunks"` // indexed now
	Done       int    `json:"done"`   // files of the current run
	Total      int    `json:"total"`
	Message    string `json:"message,omitempty"`
	Generation uint64 `json:"generation,omitempty"` // grows with every change of what can be found
}

// Location is an occurrence of an identifier. Lines and columns are 1-based;
// columns count bytes.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
	Text string `json:"text"` // the line, trimmed and bounded
}

// Symbol is a definition.
type Symbol struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"` // func, method, type, var, const, field, macro, test, section
	Container string `json:"container,omitempty"`
	Path      string `json:"path"`
	StartLine int    `json:"start_line"`
	EndLine   int    `json:"end_line"`
}
