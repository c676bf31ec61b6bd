package model

import (
	"errors"
	"testing"
)

func stream(list ...Delta) func(func(Delta, error) bool) {
	return func(yield func(Delta, error) bool) {
		for _, d := range list {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// MODEL-1: a stream that ends without Done is a failure; what came is kept.
func TestCollectNeedsDone(t *testing.T) {
	r, err := Collect("p/m", stream(Delta{Text: "a"}, Delta{Reasoning: "b"}, Delta{Text: "c"}))
	var e *Error
	if !errors.As(err, &e) || e.Kind != CutOff || !e.Retriable() {
		t.Errorf("the error is %v", err)
	}
	if r.Text != "ac" || r.Reasoning != "b" {
		t.Errorf("what came is %+v", r)
	}
	r, err = Collect("p/m", stream(Delta{Text: "a"}, Delta{Done: &Done{Finish: FinishStop}}, Delta{Text: "late"}))
	if err != nil || r.Text != "a" || r.Done.Finish != FinishStop {
		t.Errorf("%+v, %v", r, err)
	}
}

// Waiting helps against some failures and not against others.
func TestRetriable(t *testing.T) {
	for kind, want := range map[Kind]bool{Auth: false, NotFound: false, Quota: false, Overflow: false, BadRequest: false,
		RateLimited: true, Overloaded: true, Network: true, CutOff: true, Stalled: true, Server: true} {
		if got := (&Error{Kind: kind}).Retriable(); got != want {
			t.Errorf("%s: retriable %v, want %v", kind, got, want)
		}
	}
}
