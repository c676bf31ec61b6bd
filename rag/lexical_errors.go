package rag

import (
	"path/filepath"
	"sync"
)

// The engine writes in the background and tells of failures through one
// function for the whole process; here they find their way to their index.

const asyncCallback = "agent-lsp-rag"

type asyncErrors struct {
	dir    string
	failed chan error // holds the first failure
}

var asyncByDir = struct {
	sync.Mutex
	m map[string]*asyncErrors
}{m: map[string]*asyncErrors{}}

func watchAsync(dir string) *asyncErrors {
	a := &asyncErrors{dir: filepath.Clean(dir), failed: make(chan error, 1)}
	if dir != "" {
		asyncByDir.Lock()
		asyncByDir.m[a.dir] = a
		asyncByDir.Unlock()
	}
	return a
}

func (a *asyncErrors) stop() {
	asyncByDir.Lock()
	defer asyncByDir.Unlock()
	if asyncByDir.m[a.dir] == a {
		delete(asyncByDir.m, a.dir)
	}
}

// reportAsync gets the path of the engine's store, which lies inside ours.
func reportAsync(err error, path string) {
	asyncByDir.Lock()
	defer asyncByDir.Unlock()
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		if a := asyncByDir.m[p]; a != nil {
			select {
			case a.failed <- err:
			default:
			}
			return
		}
		if p == filepath.Dir(p) {
			return
		}
	}
}
