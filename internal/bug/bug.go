// Package bug reports broken invariants: things that can't happen unless the
// program is wrong.
//
// # What it does
//
// In tests a report panics, so that nothing wrong stays unseen. In production
// it is counted, handed to the registered sink, and the program goes on: the
// caller returns an error or a safe value.
//
// # What it doesn't do
//
// It is not for bad input, failed effects or refused commands; those are
// errors.
//
// # Invariants
//
//   - BUG-1 reports panic under go test unless a sink was set (TestReportPanicsInTests).
//   - BUG-2 at most ReportsMax reports of one place reach the sink; all are counted (TestReportsAreBounded).
package bug

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// ReportsMax is how many reports of one place reach the sink; more are only
// counted.
const ReportsMax = 10

var (
	mu     sync.Mutex
	sink   func(place, message string)
	counts = map[string]int{}
)

// Notify sets where reports go ("file.go:12", message), in place of the panic
// in tests. nil restores the default. The sink must not call Report.
func Notify(f func(place, message string)) {
	mu.Lock()
	defer mu.Unlock()
	sink = f
}

// Count is the number of reports so far.
func Count() int {
	mu.Lock()
	defer mu.Unlock()
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// Report says that an invariant is broken. It is safe for concurrent use.
func Report(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	place := "unknown place"
	if _, file, line, ok := runtime.Caller(1); ok {
		place = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	}
	mu.Lock()
	counts[place]++
	f, n := sink, counts[place]
	mu.Unlock()
	if f == nil {
		if testing.Testing() {
			panic("bug at " + place + ": " + message)
		}
		return
	}
	if n <= ReportsMax {
		f(place, message)
	}
}
