package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// TestRejectingAllGivesThePersonsText holds the state against a second, much
// simpler one: the person's text as a plain list of lines, each of them there
// once, changed by nothing but the person's own edits and what they accept. The
// person edits lines that are in no hunk; the agent edits anything, in review
// and in ask mode, over what is pending already.
func TestRejectingAllGivesThePersonsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := 0
		draw := func(max int, what string) int { return rapid.IntRange(0, max).Draw(t, what) }
		fresh := func(who string) string { n++; return fmt.Sprintf("%s%d\n", who, n) }
		var mine []string
		for range 8 {
			mine = append(mine, fresh("p"))
		}
		f := New(strings.Join(mine, ""))
		group := ""
		for range 40 {
			steps.Add(1)
			switch draw(9, "action") {
			case 0, 1, 2:
				lines := text.Lines(f.Current())
				for range 1 + draw(2, "edits") {
					i := draw(len(lines), "line")
					switch {
					case draw(1, "insert") == 0 || i == len(lines):
						lines = slices.Insert(lines, i, fresh("a"))
					case draw(1, "delete") == 0:
						lines = slices.Delete(lines, i, i+1)
					default:
						lines[i] = fresh("a")
					}
				}
				var err error
				f, err = f.Agent(strings.Join(lines, ""), Ref{EditID: "e"}, draw(3, "held") == 0, func() string { n++; return fmt.Sprint("h", n) })
				if err != nil {
					t.Fatal(err)
				}
			case 3, 4, 5, 6:
				line, at, ok := gapLine(f, func(n int) int { return draw(n, "gap line") })
				if !ok {
					continue
				}
				i := slices.Index(mine, line)
				if i < 0 {
					t.Fatalf("the line %q in a gap is not the person's %q", line, mine)
				}
				e := text.Edit{Start: at, End: at + len(line)}
				switch draw(2, "how") {
				case 0: // a line below it
					e.Start, e.New = e.End, fresh("u")
					mine = slices.Insert(mine, i+1, e.New)
				case 1:
					mine = slices.Delete(mine, i, i+1)
				case 2: // typing in it
					e.Start, e.End, e.New = e.End-1, e.End-1, strings.TrimSuffix(fresh("u"), "\n")
					mine[i] = strings.TrimSuffix(line, "\n") + e.New + "\n"
				}
				var err error
				if f, err = f.User([]text.Edit{e}); err != nil {
					t.Fatal(err)
				}
			case 7:
				hunks := f.Hunks()
				if len(hunks) == 0 {
					continue
				}
				h := hunks[draw(len(hunks)-1, "hunk")]
				now, ok := acceptInModel(f, mine, h)
				if !ok {
					continue
				}
				mine = now
				f, _ = f.Accept(func(x *Hunk) bool { return x.ID == h.ID })
			case 8:
				hunks := f.Hunks()
				if len(hunks) == 0 {
					continue
				}
				h := hunks[draw(len(hunks)-1, "hunk")]
				group = fmt.Sprint("g", n)
				f, _ = f.Reject(func(x *Hunk) bool { return x.ID == h.ID }, group)
			case 9:
				f, _ = f.UndoReject(group)
			}
			if err := f.Check(); err != nil {
				t.Fatalf("%v\n%s", err, dump(f))
			}
			all, _ := f.Reject(func(*Hunk) bool { return true }, "x")
			if want := strings.Join(mine, ""); all.Shown() != want {
				t.Fatalf("rejecting all gives\n%s\nthe person's text is\n%s\nstate\n%s", all.Shown(), want, dump(f))
			}
		}
	})
}

// gapLine picks a line outside of all hunks that has another one below it, so
// that a line put between them has one place only.
func gapLine(f File, pick func(int) int) (line string, at int, ok bool) {
	type place struct {
		line string
		at   int
	}
	var all []place
	off := 0
	for g := 0; g <= len(f.parts); g++ {
		lines := text.Lines(f.gap(g))
		for i, l := range lines {
			if i+1 < len(lines) {
				all = append(all, place{l, off})
			}
			off += len(l)
		}
		if g < len(f.parts) {
			off += len(f.parts[g].hunk.Shown)
		}
	}
	if len(all) == 0 {
		return "", 0, false
	}
	p := all[pick(len(all)-1)]
	return p.line, p.at, true
}

// acceptInModel does to a list of lines what accepting a hunk means. A hunk
// that only inserts is found by the gap line above it.
func acceptInModel(f File, mine []string, h View) ([]string, bool) {
	base, now := text.Lines(h.Base), text.Lines(h.Agent)
	i := 0
	if len(base) > 0 {
		if i = slices.Index(mine, base[0]); i < 0 || i+len(base) > len(mine) || !slices.Equal(mine[i:i+len(base)], base) {
			return nil, false
		}
	} else {
		k := slices.IndexFunc(f.parts, func(p part) bool { return p.hunk.ID == h.ID })
		above := text.Lines(f.parts[k].gap)
		if len(above) == 0 {
			return nil, false
		}
		i = slices.Index(mine, above[len(above)-1]) + 1
	}
	return slices.Concat(mine[:i], now, mine[i+len(base):]), true
}
