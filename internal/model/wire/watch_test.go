package wire

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// piped is a body that ends with its call's context, as a response's does.
type piped struct {
	ctx    context.Context
	chunks chan string
}

func (p piped) Read(b []byte) (int, error) {
	select {
	case s, ok := <-p.chunks:
		if !ok {
			return 0, io.EOF
		}
		return copy(b, s), nil
	case <-p.ctx.Done():
		return 0, context.Cause(p.ctx)
	}
}

// How long a silent server is waited for: for its first byte, between two
// bytes, and after its finish reason; the consumer's own time does not count.
func TestWatch(t *testing.T) {
	limits := Limits{FirstToken: 60 * time.Second, Idle: 20 * time.Second, Tail: time.Second}
	for name, c := range map[string]struct {
		server  []time.Duration // silent for so long before each chunk, then for ever
		rest    time.Duration   // of the consumer after each chunk
		finish  bool            // the first chunk is the finish reason
		stalled time.Duration   // after the start; 0: all chunks came
	}{
		"silent from the start":   {stalled: 60 * time.Second},
		"a first byte in time":    {server: []time.Duration{59 * time.Second}, stalled: 79 * time.Second},
		"silent in the middle":    {server: []time.Duration{time.Second, 19 * time.Second, 21 * time.Second}, stalled: 40 * time.Second},
		"the consumer is slow":    {server: []time.Duration{time.Second, time.Second}, rest: time.Hour, stalled: 2*time.Hour + 21*time.Second},
		"after the finish reason": {server: []time.Duration{time.Second}, finish: true, stalled: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				start := time.Now()
				w := limits.NewWatch(cancel)
				defer w.Stop()
				body := piped{ctx, make(chan string)}
				go func() {
					for _, d := range c.server {
						select {
						case <-time.After(d):
						case <-ctx.Done():
							return
						}
						select {
						case body.chunks <- "x":
						case <-ctx.Done():
							return
						}
					}
				}()
				r, b := w.Patient(body), make([]byte, 8)
				for {
					if _, err := r.Read(b); err != nil {
						if !errors.Is(err, ErrStalled) {
							t.Error(err)
						}
						break
					}
					w.Begin()
					if c.finish {
						w.Finish()
					}
					time.Sleep(c.rest)
				}
				if took := time.Since(start); took != c.stalled {
					t.Errorf("it was given up after %v, want %v", took, c.stalled)
				}
			})
		})
	}
}
