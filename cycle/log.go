package cycle

import "fmt"

// View tells which of a cycle's two views are wanted.
type View string

// Views.
const (
	ViewAll    View = "all"
	ViewSteps  View = "steps"
	ViewRounds View = "rounds"
)

// ParseView reads a view's name.
func ParseView(name string) (View, error) {
	switch v := View(name); v {
	case ViewAll, ViewSteps, ViewRounds:
		return v, nil
	}
	return "", fmt.Errorf("unknown view %q: expected %s, %s or %s", clip(name), ViewSteps, ViewRounds, ViewAll)
}

// LogOptions are the options of [ProjectLog].
type LogOptions struct {
	View   View // "" is ViewAll for JSON and ViewSteps for text
	Text   bool // the tree for a person instead of JSON
	ASCII  bool // of the tree: no glyphs outside ASCII
	Policy Policy
}

// ProjectLog is the command `agent-lsp cycle`: it projects a log of one event a line and returns what to
// print, which ends in a line break. When a line is bad, out is the projection of the lines before it and err
// is a *[LineError].
func ProjectLog(log []byte, opts LogOptions) (out []byte, err error) {
	view := opts.View
	if view == "" {
		view = ViewAll
		if opts.Text {
			view = ViewSteps
		}
	}
	if _, err := ParseView(string(view)); err != nil {
		return nil, err
	}
	events, bad := ParseLog(log)
	m := Project(events, opts.Policy)
	if opts.Text {
		return []byte(Text(m, TextOptions{View: view, ASCII: opts.ASCII})), bad
	}
	out, err = JSON(m, view)
	if err != nil {
		return nil, err
	}
	return append(out, '\n'), bad
}

// JSON writes a model on one line: ViewSteps without its rounds, ViewRounds without its steps.
func JSON(m Model, view View) ([]byte, error) {
	out, err := marshal(m.Only(view))
	if err != nil {
		return nil, fmt.Errorf("the model can't be written as JSON: %w", err)
	}
	return out, nil
}

// Only is the model with nothing but the view in it. It shares memory with m.
func (m Model) Only(view View) Model {
	cycles := make([]RequestCycle, len(m.Cycles))
	for i, c := range m.Cycles {
		switch view {
		case ViewSteps:
			c.Rounds = nil
		case ViewRounds:
			c.Steps = nil
		}
		cycles[i] = c
	}
	m.Cycles = cycles
	return m
}
