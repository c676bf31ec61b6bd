package rpc

import (
	"context"
	"strings"
)

// lanes keep requests that change the same thing in the order in which they
// were sent; everything else runs at the same time. A message and the one
// after it must not change places.
type lanes map[string]chan struct{} // by lane, closed when its last request is done

// laneOf names the lane of a method, "" if it needs none.
func laneOf(method string) string {
	switch {
	case method == "agent/submit", strings.HasPrefix(method, "agent/queue"):
		return "input"
	case method == "agent/edits/resolve", method == "agent/checkpoint/restore":
		return "edits"
	case method == "agent/pin", method == "agent/unpin", method == "agent/ttl":
		return "pins"
	case method == "agent/model/set":
		return "model"
	}
	return ""
}

// take gives a place in the lane. Calls come from the read loop only. turn
// waits for the place's turn; done gives it up and must be called once.
func (l lanes) take(lane string) (turn func(context.Context) error, done func()) {
	if lane == "" {
		return func(context.Context) error { return nil }, func() {}
	}
	before, mine := l[lane], make(chan struct{})
	l[lane] = mine
	turn = func(ctx context.Context) error {
		if before == nil {
			return nil
		}
		select {
		case <-before:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	done = func() {
		if before == nil {
			close(mine)
			return
		}
		select {
		case <-before:
			close(mine)
		default: // left before its turn: who comes after still waits for who came before
			go func() { <-before; close(mine) }()
		}
	}
	return turn, done
}
