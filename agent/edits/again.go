package edits

import (
	"bytes"
	"fmt"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/review"
)

// StoredState reads a review state as it was recorded, in its own encoding;
// "" for a file that was never there.
func (l *Ledger) StoredState(hash string) (string, error) {
	if hash == "" {
		return "", nil
	}
	f, err := l.state(hash)
	return string(f.Encode()), err
}

// Again makes a recorded edit anew from the state before it: the same text,
// as hunks, by the same pure steps. "" says that the state after it is the
// same, byte for byte.
func Again(e cycle.HunksProposed, pre, post string) (differs string, err error) {
	before, err := decodeState(pre)
	if err != nil {
		return "", err
	}
	after, err := decodeState(post)
	if err != nil {
		return "", err
	}
	held := Mode(e.Mode) != ModeReview
	ref := review.Ref{EditID: e.EditID, SessionID: e.SessionID, TurnID: e.TurnID, CallID: e.CallID}
	n := 0
	next := func() string {
		n++
		return fmt.Sprintf("%s.%d", e.EditID, n)
	}
	var again review.File
	switch {
	case !after.AgentExists():
		again, err = before.Delete(ref, held, next)
	case !before.AgentExists():
		again, err = before.Create(after.Current(), ref, held, next)
	default:
		again, err = before.Agent(after.Current(), ref, held, next)
	}
	if err != nil {
		return "", err
	}
	if got := again.Encode(); !bytes.Equal(got, after.Encode()) {
		return fmt.Sprintf("%s: the edit %s makes other hunks", e.File.Path, e.EditID), nil
	}
	return "", nil
}

func decodeState(data string) (review.File, error) {
	if data == "" {
		return review.File{}, nil
	}
	return review.Decode([]byte(data))
}
