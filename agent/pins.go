package agent

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// pinID is the candidate that a pin is about: a message, or lines of a file.
func (e *Engine) pinID(p *PinParams) (id, label string, err error) {
	switch {
	case p.MessageID != "":
		id = p.MessageID
		if !strings.Contains(id, ":") { // a message; every other item of a plan has its kind before a colon
			id = "msg:" + id
		}
		return id, p.MessageID, nil
	case p.URI != "":
		path := e.relative(p.URI)
		if path == "" {
			return "", "", &Error{Code: CodeBadRequest, Message: p.URI + " is outside the workspace"}
		}
		if p.Range == nil {
			return "pin:" + path, path, nil
		}
		first, last := p.Range.lines()
		label = fmt.Sprintf("%s:%d-%d", path, first, last)
		return "pin:" + label, label, nil
	}
	return "", "", &Error{Code: CodeBadRequest, Message: "nothing says what to pin", Hint: "give messageId (a message or any item of a plan) or uri"}
}

func (e *Engine) changePin(ctx context.Context, p *PinParams, change func(*cycle.PinChanged)) (*PinResult, error) {
	id, label, err := e.pinID(p)
	if err != nil {
		return nil, err
	}
	t, err := e.timeline(ctx, p.SessionID, p.BranchID)
	if err != nil {
		return nil, err
	}
	pin := cycle.PinChanged{ID: id, Label: label}
	t.view(func() {
		if old, ok := t.pins[id]; ok {
			pin = old
		}
	})
	change(&pin)
	pin.Time = e.now()
	if err := t.record(ctx, pin); err != nil {
		return nil, err
	}
	return t.pinResult(), nil
}

func (t *timeline) pinResult() *PinResult {
	out := &PinResult{Pins: []Pin{}}
	t.view(func() {
		for _, p := range t.pins {
			if p.TTL != nil {
				left := t.script.ttlLeft(p.ID, *p.TTL)
				p.TTL = &left
			}
			if p.Pinned || p.Excluded || p.TTL != nil {
				out.Pins = append(out.Pins, Pin{ID: p.ID, Label: p.Label, Pinned: p.Pinned, Excluded: p.Excluded, TTL: p.TTL})
			}
		}
	})
	sort.Slice(out.Pins, func(i, j int) bool { return out.Pins[i].ID < out.Pins[j].ID })
	return out
}

// Pin pins something, or keeps it out.
func (e *Engine) Pin(ctx context.Context, p *PinParams) (*PinResult, error) {
	return e.changePin(ctx, p, func(c *cycle.PinChanged) { c.Pinned, c.Excluded = !p.Exclude, p.Exclude })
}

// Unpin takes a pin or an exclusion back.
func (e *Engine) Unpin(ctx context.Context, p *PinParams) (*PinResult, error) {
	return e.changePin(ctx, p, func(c *cycle.PinChanged) { c.Pinned, c.Excluded = false, false })
}

// TTL sets after how many turns something leaves the context.
func (e *Engine) TTL(ctx context.Context, p *PinParams) (*PinResult, error) {
	if p.TTL != nil && *p.TTL < 0 {
		return nil, &Error{Code: CodeBadRequest, Message: "ttl must not be negative", Hint: "0 removes it with the next turn"}
	}
	return e.changePin(ctx, p, func(c *cycle.PinChanged) { c.TTL = p.TTL })
}

// pinnedTexts reads the files that are pinned.
func (t *timeline) pinnedTexts(pins map[string]cycle.PinChanged) []pinnedText {
	var out []pinnedText
	for id, p := range pins {
		if !p.Pinned || len(id) < 5 || id[:4] != "pin:" {
			continue
		}
		path, start, end := splitSpan(id[4:])
		text, start, ok := t.lines(path, start, end)
		if ok {
			out = append(out, pinnedText{id: id, label: p.Label, uri: path, text: text, start: start, end: end})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

// pinnedLinesMax bounds what is quoted of a pinned file.
const pinnedLinesMax = 1000

// splitSpan reads path:start-end; a bare path is its first lines.
func splitSpan(s string) (path string, start, end int) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == ':' {
			if n, err := fmt.Sscanf(s[i+1:], "%d-%d", &start, &end); n == 2 && err == nil {
				return s[:i], start, end
			}
			break
		}
	}
	return s, 1, pinnedLinesMax
}
