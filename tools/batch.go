package tools

import (
	"context"
	"path"
	"strings"

	"github.com/sourcegraph/conc/panics"
	"github.com/sourcegraph/conc/pool"
)

// BatchParallel is how many calls of one batch run at the same time.
const BatchParallel = 8

// Call is what Batch must know of a call to put it in order.
type Call struct {
	Name     string
	ReadOnly bool
	Path     string // the file or folder that it is about; "" = it may be about any
}

// Batch runs the calls that a model made at once, together where they are
// independent, and gives their results in the order of the calls. The outcome
// is as if they had run one after the other, but for commands, which run
// beside each other:
//
//   - calls that only read run beside each other;
//   - a write waits for earlier calls about the same file or a folder above it,
//     and later ones wait for it;
//   - a command (any call that doesn't only read and names no file) waits for
//     all earlier reads and writes, and later ones wait for it.
//
// A panic in run is that call's error. When ctx ends, calls that have not
// begun are cancelled; those that have must obey ctx themselves. Batch returns
// when all have returned.
func Batch(ctx context.Context, calls []Call, run func(ctx context.Context, i int) Result) []Result {
	results := make([]Result, len(calls))
	done := make([]chan struct{}, len(calls))
	for i := range done {
		done[i] = make(chan struct{})
	}
	// Calls begin in their order and wait for earlier ones only, so a full pool
	// can't lock itself up.
	p := pool.New().WithMaxGoroutines(BatchParallel)
	for i := range calls {
		p.Go(func() {
			defer close(done[i])
			results[i] = cancelled()
			for k := range i {
				if calls[k].before(calls[i]) {
					select {
					case <-done[k]:
					case <-ctx.Done():
						return
					}
				}
			}
			if ctx.Err() != nil {
				return
			}
			if panicked := panics.Try(func() { results[i] = run(ctx, i) }); panicked != nil {
				results[i] = panicResult(calls[i].Name, panicked)
			}
		})
	}
	p.Wait()
	return results
}

// runs says that a call may do anything anywhere.
func (c Call) runs() bool { return !c.ReadOnly && c.Path == "" }

// before says whether c must be over before a later call begins.
func (c Call) before(later Call) bool {
	switch {
	case c.ReadOnly && later.ReadOnly, c.runs() && later.runs():
		return false
	case c.runs() || later.runs():
		return true
	}
	return overlap(c.Path, later.Path)
}

// overlap says whether one path is the other or a folder above it.
func overlap(a, b string) bool {
	a, b = path.Clean(a), path.Clean(b)
	return a == "." || b == "." || a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}
