// Command edits measures whether edits land where they were meant to.
//
// The hunks of real commits become calls of the edit tool, as oldText → newText
// with the context that a model would give and as unified diffs. They are
// applied to the file as it stood, and to files that have drifted: other blanks,
// other indentation, moved blocks, edited neighbours, copies elsewhere, the hunk's
// place gone, and earlier and later revisions of the file itself. What should
// come out is known for each, so that every call is one of
//
//	right    the text that should come out, blanks at line ends aside
//	refused  an error in words, and nothing changed
//	off      the right place, with another text
//	wrong    another place, or a choice where there was none to make
//
// The last must be 0: the program fails otherwise.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
)

func main() {
	repos := flag.String("repos", os.Getenv("EDITS_REPOS"), "folders of git repositories, or folders that hold such, separated by "+string(filepath.ListSeparator))
	hunks := flag.Int("hunks", 80, "hunks of each repository")
	show := flag.Int("show", 3, "wrong calls that are shown in full")
	only := flag.String("drift", "", "only this drift")
	off := flag.Bool("off", false, "show calls that are off too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dirs := find(*repos)
	if len(dirs) == 0 {
		fmt.Fprintln(os.Stderr, "edits: there are no git repositories to take commits from: set EDITS_REPOS to their folders; nothing was measured")
		os.Exit(2)
	}
	t := newTally(*show, *off)
	for _, dir := range dirs {
		cases, err := load(ctx, dir, *hunks)
		if err != nil {
			fmt.Fprintf(os.Stderr, "edits: %s is left out: %v\n", dir, err)
			continue
		}
		for i, c := range cases {
			for _, d := range drifts {
				if *only == "" || d.name == *only {
					t.measure(ctx, c, d, uint64(i))
				}
			}
		}
		t.repos, t.hunks = t.repos+1, t.hunks+len(cases)
	}
	t.print(os.Stdout)
	if t.wrong() > 0 || t.hunks == 0 {
		os.Exit(1)
	}
}

// find gives the git folders among and below what was named.
func find(named string) (dirs []string) {
	isGit := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "HEAD"))
		return err == nil
	}
	for _, root := range filepath.SplitList(named) {
		for _, pattern := range []string{".", ".git", "*", "*/.git", "*/repo", "*/repo/.git"} {
			found, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil {
				continue
			}
			for _, dir := range found {
				if isGit(dir) && !slices.Contains(dirs, dir) {
					dirs = append(dirs, dir)
				}
			}
		}
	}
	sort.Strings(dirs)
	return dirs
}

// verdict is what became of one call.
type verdict int

const (
	right verdict = iota
	refused
	off
	wrong
)

var forms = []string{"oldText", "diff"}

// tally counts verdicts by drift and form.
type tally struct {
	counts       map[[2]string]*[4]int
	repos, hunks int
	show         int
	showOff      bool
}

func newTally(show int, showOff bool) *tally {
	return &tally{counts: map[[2]string]*[4]int{}, show: show, showOff: showOff}
}

// measure applies one hunk, in every form, to one drifted file.
func (t *tally) measure(ctx context.Context, c hunk, d drift, seed uint64) {
	v, ok := d.make(c, seed)
	if !ok {
		return // this hunk has no such version: no room to move, no other revision
	}
	for _, form := range forms {
		out, said := apply(ctx, c, v.text, form)
		got := v.judge(c, out, form)
		key := [2]string{d.name, form}
		if t.counts[key] == nil {
			t.counts[key] = &[4]int{}
		}
		t.counts[key][got]++
		if (got == wrong || got == off && t.showOff) && t.show > 0 {
			t.show--
			fmt.Printf("--- %s, %s, %s %s, line %d of %s\n%s\nold:\n%s\nwith:\n%s\ndid:\n%s\nshould:\n%s\n\n", []string{"", "", "OFF", "WRONG"}[got], d.name, form, c.repo, c.from+1, c.path, said,
				c.old(), c.with(), unified(v.text, out), unified(v.text, v.ideal))
		}
	}
}

func (t *tally) wrong() (n int) {
	for _, c := range t.counts {
		n += c[wrong]
	}
	return n
}

// print writes the one table.
func (t *tally) print(w *os.File) {
	fmt.Fprintf(w, "%d hunks of real commits from %d repositories, each applied to\n\n", t.hunks, t.repos)
	fmt.Fprintf(w, "%-26s %-8s %7s %9s %9s %7s %7s\n", "the file", "form", "calls", "right", "refused", "off", "wrong")
	var total [2][4]int
	row := func(name, form string, c [4]int) {
		n := c[right] + c[refused] + c[off] + c[wrong]
		share := func(v verdict) string { return fmt.Sprintf("%.1f %%", 100*float64(c[v])/float64(max(1, n))) }
		fmt.Fprintf(w, "%-26s %-8s %7d %9s %9s %7s %7d\n", name, form, n, share(right), share(refused), share(off), c[wrong])
	}
	for _, d := range drifts {
		for i, form := range forms {
			c := t.counts[[2]string{d.name, form}]
			if c == nil {
				continue
			}
			row(d.name, form, *c)
			for v := range c {
				total[i][v] += c[v]
			}
		}
	}
	for i, form := range forms {
		row("all", form, total[i])
	}
	fmt.Fprintln(w, "\n"+strings.TrimSpace(`
right: the text that should come out; refused: an error, nothing changed (what should happen where the place is gone or stands twice);
off: the right place with another text; wrong: another place, or a choice where there was none. Wrong must be 0.`))
}
