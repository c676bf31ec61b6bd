package rag

import (
	"cmp"
	"slices"
	"strings"
)

// table says which files, in which version, a query may find. It is immutable:
// a query works on one table to its end, a commit puts a new one in its place.
type table struct {
	byID       []*entry // nil where a version is gone
	sorted     []*entry // by path
	chunks     int
	tokens     int64 // of all files
	generation uint64
}

func newTable(files map[string]*entry) *table {
	t := &table{generation: 1}
	top := -1
	for _, e := range files {
		t.sorted = append(t.sorted, e)
		t.chunks += len(e.starts)
		t.tokens += int64(e.tokens)
		top = max(top, int(e.id))
	}
	slices.SortFunc(t.sorted, func(a, b *entry) int { return cmp.Compare(a.path, b.path) })
	t.byID = make([]*entry, top+1)
	for _, e := range t.sorted {
		t.byID[e.id] = e
	}
	return t
}

// file finds the version with the id, nil when it is gone.
func (t *table) file(id uint32) *entry {
	if int(id) < len(t.byID) {
		return t.byID[id]
	}
	return nil
}

// at finds the file of that path, or nil.
func (t *table) at(path string) *entry {
	if i, ok := t.search(path); ok {
		return t.sorted[i]
	}
	return nil
}

func (t *table) search(path string) (int, bool) {
	return slices.BinarySearchFunc(t.sorted, path, func(e *entry, p string) int { return cmp.Compare(e.path, p) })
}

// below gives the files in a folder, or all of them when it is "".
func (t *table) below(dir string) []*entry {
	if dir == "" {
		return t.sorted
	}
	dir = strings.TrimSuffix(dir, "/") + "/"
	i, _ := t.search(dir)
	j := i
	for j < len(t.sorted) && strings.HasPrefix(t.sorted[j].path, dir) {
		j++
	}
	return t.sorted[i:j]
}

// with gives the table after a commit: adds replace what has their path.
func (t *table) with(adds []*entry, gone []string) *table {
	n := &table{generation: t.generation + 1, chunks: t.chunks, tokens: t.tokens}
	top := len(t.byID)
	changed := make(map[string]*entry, len(adds)+len(gone))
	for _, p := range gone {
		changed[p] = nil
	}
	for _, e := range adds {
		changed[e.path] = e
		top = max(top, int(e.id)+1)
	}
	n.byID = make([]*entry, top)
	copy(n.byID, t.byID)
	n.sorted = make([]*entry, 0, len(t.sorted)+len(adds))
	for _, e := range t.sorted {
		if _, ok := changed[e.path]; ok {
			n.byID[e.id] = nil
			n.chunks -= len(e.starts)
			n.tokens -= int64(e.tokens)
			continue
		}
		n.sorted = append(n.sorted, e)
	}
	var fresh []*entry
	for _, e := range changed {
		if e != nil {
			fresh = append(fresh, e)
			n.byID[e.id] = e
			n.chunks += len(e.starts)
			n.tokens += int64(e.tokens)
		}
	}
	slices.SortFunc(fresh, func(a, b *entry) int { return cmp.Compare(a.path, b.path) })
	n.sorted = mergeSorted(n.sorted, fresh)
	return n
}

func mergeSorted(a, b []*entry) []*entry {
	if len(b) == 0 {
		return a
	}
	out := make([]*entry, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].path < b[0].path {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}
