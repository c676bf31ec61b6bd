package tools

import (
	"fmt"
	"path/filepath"
)

// guards stand around one command, one in each root.
type guards struct{ in []*guard }

// guard looks at the roots as they are before a command, and lets the guards of
// commands that run at the same time know of each other: what one of them was
// permitted isn't put back by another.
func (s *shell) guard(c Command) (*guards, error) {
	gs := &guards{}
	for _, root := range s.o.Roots {
		g, err := newGuard(root, c.Opens, c.Edited)
		if err != nil {
			gs.close()
			return nil, fmt.Errorf("the workspace %s can't be looked at: %w", root, err)
		}
		gs.in = append(gs.in, g)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.active {
		gs.know(other)
		other.know(gs)
	}
	s.active[gs] = true
	return gs, nil
}

func (s *shell) unguard(gs *guards) {
	s.mu.Lock()
	delete(s.active, gs)
	s.mu.Unlock()
	gs.close()
}

func (gs *guards) know(other *guards) {
	for _, g := range gs.in {
		for _, o := range other.in {
			if g.root == o.root && o.opens != nil {
				g.others.mu.Lock()
				g.others.opens = append(g.others.opens, o.opens)
				g.others.mu.Unlock()
			}
		}
	}
}

func (gs *guards) close() {
	for _, g := range gs.in {
		g.close()
	}
}

func (gs *guards) list(secret bool) (out []string) {
	for _, g := range gs.in {
		out = append(out, g.list(secret)...)
	}
	return out
}

// compare puts back what the command changed of the guarded files, and says in
// its result which protection held. seen says that it saw them read-only.
func (gs *guards) compare(res *CommandResult, seen bool, keep string) {
	cut := false
	for _, g := range gs.in {
		res.PutBack = append(res.PutBack, g.compare(seen, keep)...)
		cut = cut || g.cut
		for _, p := range g.paths {
			if p.secret && seen {
				res.Hidden = append(res.Hidden, filepath.FromSlash(p.rel))
			}
		}
	}
	if seen {
		res.Note += "; git's settings and hooks and editors' settings read-only, secret files hidden"
	} else {
		res.Note += "; git's settings and hooks and editors' settings compared afterwards, secret files in the workspace NOT hidden: this system can't"
	}
	if cut {
		res.Note += fmt.Sprintf("; not all of them: there are more than %d", guardPathsMax)
	}
}
