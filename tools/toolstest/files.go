// Package toolstest has a small workspace, shell and asker for tests of what
// runs tools.
//
// # What it does
//
// Files is a workspace in memory that keeps to the contract of tools.Files:
// errors for what is missing, secret or outside, changes only over the base
// they were computed from. Asker answers by a list; Shell by a function.
//
// # What it doesn't do
//
// It rebases nothing and keeps no hunks: a change over another base is stale.
package toolstest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/tools"
)

// Files is a workspace in memory. The zero value is empty and usable.
type Files struct {
	mu      sync.Mutex
	data    map[string][]byte
	unsaved map[string]bool
	Changes []tools.Change // every one that was applied, in order
	// Hold makes Change wait until it is closed; for tests of order.
	Hold chan struct{}
}

// New makes a workspace of path → content.
func New(files map[string]string) *Files {
	f := &Files{data: map[string][]byte{}, unsaved: map[string]bool{}}
	for p, s := range files {
		f.data[p] = []byte(s)
	}
	return f
}

// Set puts a file, as the person would.
func (f *Files) Set(p, content string, unsaved bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.data == nil {
		f.data, f.unsaved = map[string][]byte{}, map[string]bool{}
	}
	f.data[p], f.unsaved[p] = []byte(content), unsaved
}

// Content gives a file's bytes; not ok where there is none.
func (f *Files) Content(p string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.data[p]
	return string(b), ok
}

// Paths gives every file, in order.
func (f *Files) Paths() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var paths []string
	for p := range f.data {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}

// clean makes a path relative, or refuses it.
func clean(p string) (string, error) {
	if path.IsAbs(p) {
		return "", &tools.PathError{Path: p, Reason: "outside the workspace"}
	}
	c := path.Clean(p)
	if c == ".." || strings.HasPrefix(c, "../") {
		return "", &tools.PathError{Path: p, Reason: "outside the workspace"}
	}
	if tools.SecretPath(c) {
		return "", &tools.PathError{Path: p, Reason: "a secret-looking file", Hint: "needs permission"}
	}
	return c, nil
}

func (f *Files) folder(dir string) bool {
	if dir == "." {
		return true
	}
	for p := range f.data {
		if strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}

// Read implements tools.Files.
func (f *Files) Read(ctx context.Context, p string) (tools.File, error) {
	c, err := clean(p)
	if err != nil {
		return tools.File{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.data[c]
	if !ok && f.folder(c) {
		return tools.File{}, &tools.PathError{Path: p, Reason: "a folder", Hint: "use ls"}
	}
	if !ok {
		return tools.File{}, &tools.PathError{Path: p, Reason: "not found"}
	}
	sum := sha256.Sum256(b)
	return tools.File{Path: c, Data: slices.Clone(b), Hash: hex.EncodeToString(sum[:]), Unsaved: f.unsaved[c], Mode: 0o644}, ctx.Err()
}

// Stat implements tools.Files.
func (f *Files) Stat(ctx context.Context, p string) (tools.Info, error) {
	c, err := clean(p)
	if err != nil {
		return tools.Info{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if b, ok := f.data[c]; ok {
		return tools.Info{Path: c, Size: int64(len(b))}, ctx.Err()
	}
	if f.folder(c) {
		return tools.Info{Path: c, Dir: true}, ctx.Err()
	}
	return tools.Info{}, &tools.PathError{Path: p, Reason: "not found"}
}

// List implements tools.Files.
func (f *Files) List(ctx context.Context, dir string) ([]tools.Info, error) {
	info, err := f.Stat(ctx, dir)
	if err != nil {
		return nil, err
	}
	if !info.Dir {
		return nil, &tools.PathError{Path: dir, Reason: "not a folder"}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[string]tools.Info{}
	for p, b := range f.data {
		rest := p
		if info.Path != "." {
			var ok bool
			if rest, ok = strings.CutPrefix(p, info.Path+"/"); !ok {
				continue
			}
		}
		first, _, sub := strings.Cut(rest, "/")
		e := tools.Info{Path: path.Join(info.Path, first), Dir: sub}
		if !sub {
			e.Size = int64(len(b))
		}
		seen[first] = e
	}
	var out []tools.Info
	for _, e := range seen {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b tools.Info) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// Walk implements tools.Files.
func (f *Files) Walk(ctx context.Context, dir string, fn func(tools.Info) bool) error {
	info, err := f.Stat(ctx, dir)
	if err != nil {
		return err
	}
	for _, p := range f.Paths() {
		if info.Path != "." && p != info.Path && !strings.HasPrefix(p, info.Path+"/") {
			continue
		}
		content, _ := f.Content(p)
		if !fn(tools.Info{Path: p, Size: int64(len(content))}) {
			return nil
		}
	}
	return ctx.Err()
}

// Change implements tools.Files.
func (f *Files) Change(ctx context.Context, c tools.Change) (tools.Applied, error) {
	p, err := clean(c.Path)
	if err != nil {
		return tools.Applied{}, err
	}
	if f.Hold != nil {
		select {
		case <-f.Hold:
		case <-ctx.Done():
			return tools.Applied{}, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.data == nil {
		f.data, f.unsaved = map[string][]byte{}, map[string]bool{}
	}
	now, exists := f.data[p]
	switch {
	case c.Base == nil && exists:
		return tools.Applied{}, &tools.StaleError{Path: p, What: "it exists now"}
	case c.Base != nil && !exists:
		return tools.Applied{}, &tools.StaleError{Path: p, What: "it is gone"}
	case string(c.Base) != string(now):
		return tools.Applied{}, &tools.StaleError{Path: p, What: "other bytes than the change was computed from"}
	}
	if c.New == nil {
		delete(f.data, p)
	} else {
		f.data[p] = slices.Clone(c.New)
	}
	f.Changes = append(f.Changes, c)
	n := len(f.Changes)
	added, removed := lines(c.New, c.Base), lines(c.Base, c.New)
	return tools.Applied{EditID: fmt.Sprintf("e%d", n), HunkIDs: []string{fmt.Sprintf("h%d", n)}, Added: added, Removed: removed, Written: true}, nil
}

// lines counts the lines of a that are not in b.
func lines(a, b []byte) (n int) {
	have := map[string]int{}
	for l := range strings.Lines(string(b)) {
		have[l]++
	}
	for l := range strings.Lines(string(a)) {
		if have[l]--; have[l] < 0 {
			n++
		}
	}
	return n
}
