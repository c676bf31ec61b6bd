package rag

import (
	"math"
	"path"
	"strings"
)

// What the person is looking at, from the nearest to the farthest.
const (
	focusSelected = 1
	focusScope    = 1
	focusVisible  = .7
	focusRecent   = .7 // the latest; each earlier one a little less
	focusOpen     = .4
	focusBeside   = .15 // in the folder of a file that is visible or selected
	recentFade    = .85
)

// focusValues gives each file, by position, how near it is to the person.
func (k *ranking) focusValues(f Focus) []float64 {
	out := make([]float64, len(k.t.sorted))
	lift := func(p string, v float64) {
		if i, ok := k.t.search(path.Clean(p)); ok {
			out[i] = math.Max(out[i], v)
		}
	}
	beside := func(p string) {
		dir, _ := path.Split(path.Clean(p))
		for _, e := range k.t.below(strings.TrimSuffix(dir, "/")) {
			if e.dir == dir && dir != "" {
				lift(e.path, focusBeside)
			}
		}
	}
	for _, p := range f.Open[:min(len(f.Open), MaxFocusPaths)] {
		lift(p, focusOpen)
	}
	v := focusRecent
	for _, p := range f.Recent[:min(len(f.Recent), MaxFocusPaths)] {
		lift(p, v)
		v *= recentFade
	}
	for _, p := range f.Visible[:min(len(f.Visible), MaxFocusPaths)] {
		lift(p, focusVisible)
		beside(p)
	}
	if f.Selection != nil {
		lift(f.Selection.Path, focusSelected)
		beside(f.Selection.Path)
	}
	for _, s := range f.Scope[:min(len(f.Scope), MaxFocusPaths)] {
		k.scope(s, out)
	}
	return out
}

// scope lifts what a path, a glob, a module or a symbol stands for.
func (k *ranking) scope(s string, out []float64) {
	s = strings.TrimSuffix(strings.TrimSpace(s), "/")
	if s == "" {
		return
	}
	module := strings.NewReplacer("::", "/", ".", "/").Replace(s)
	hit := false
	for i, e := range k.t.sorted {
		if matchGlob(s, e.path) || strings.HasPrefix(e.path, s+"/") || strings.Contains("/"+e.dir, "/"+module+"/") || pathStem(e.path) == module {
			out[i], hit = focusScope, true
		}
	}
	if hit {
		return
	}
	_, base := qualified(s)
	for i, e := range k.t.sorted {
		for _, d := range e.defs {
			if d.Name == base {
				out[i] = focusScope
				break
			}
		}
	}
}

func pathStem(p string) string { return strings.TrimSuffix(p, path.Ext(p)) }

// matchGlob matches a pattern against a path: path.Match over all of it, or over the
// base name when the pattern has no slash; "**" stands for any folders.
func matchGlob(pattern, p string) bool {
	if pattern == p {
		return true
	}
	if !strings.Contains(pattern, "/") {
		ok, _ := path.Match(pattern, path.Base(p))
		return ok
	}
	if before, after, ok := strings.Cut(pattern, "**"); ok {
		if !strings.HasPrefix(p, before) {
			return false
		}
		after = strings.TrimPrefix(after, "/")
		if after == "" {
			return true
		}
		for rest := p[len(before):]; ; {
			if matchGlob(after, rest) {
				return true
			}
			_, next, ok := strings.Cut(rest, "/")
			if !ok {
				return false
			}
			rest = next
		}
	}
	ok, _ := path.Match(pattern, p)
	return ok
}

// allows says whether a path passes the filters.
func (f Filters) allows(p string) bool {
	for _, g := range f.Exclude {
		if matchGlob(g, p) || strings.HasPrefix(p, strings.TrimSuffix(g, "/")+"/") {
			return false
		}
	}
	if len(f.Include) == 0 {
		return true
	}
	for _, g := range f.Include {
		if matchGlob(g, p) || strings.HasPrefix(p, strings.TrimSuffix(g, "/")+"/") {
			return true
		}
	}
	return false
}
