package edits_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/tools"
)

// TestConcurrent: several tools edit the same file and others, hunks are listed
// and decided, and the person types all the while. Whatever was acknowledged is
// there at the end, once.
func TestConcurrent(t *testing.T) {
	var start strings.Builder
	for i := range 40 {
		fmt.Fprintf(&start, "section %d\n-\n-\n-\n", i)
	}
	r := newRig(t, map[string]string{"a": start.String(), "b": start.String()})
	r.editor.Late = true
	r.editor.Open(r.abs("a"))
	ctx := context.Background()
	const writers, edits1 = 4, 8
	var mu sync.Mutex
	done := map[string][]string{}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			fs := r.l.Files(edits.Scope{SessionID: "s", TurnID: fmt.Sprint("t", w)})
			for i := range edits1 {
				name := []string{"a", "b"}[i%2]
				line := fmt.Sprintf("writer %d edit %d\n", w, i)
				for try := 0; ; try++ {
					f, err := fs.Read(ctx, name)
					if err != nil {
						t.Error(err)
						return
					}
					at := fmt.Sprintf("section %d\n", w*10+i)
					_, err = fs.Change(ctx, tools.Change{Path: name, CallID: "c", Base: f.Data, New: []byte(strings.Replace(string(f.Data), at, at+line, 1))})
					var stale *tools.StaleError
					if err == nil {
						mu.Lock()
						done[name] = append(done[name], line)
						mu.Unlock()
						break
					}
					if !errors.As(err, &stale) || try > 20 {
						t.Error(err)
						return
					}
				}
			}
		}()
	}
	typed := []string{}
	wg.Add(1)
	go func() {
		defer wg.Done()
		for i := range 60 {
			line := fmt.Sprintf("typed %d\n", i)
			if err := r.editor.Type(r.abs("a"), func(s string) []text.Edit {
				at := strings.Index(s, "section 39\n")
				return []text.Edit{{Start: at, End: at, New: line}}
			}); err != nil {
				t.Error(err)
			}
			typed = append(typed, line)
			r.l.Hunks(edits.Filter{})
		}
	}()
	wg.Wait()
	if errs := r.editor.Wait(); errs != nil {
		t.Fatal(errs)
	}
	for name, lines := range done {
		s, ok := r.editor.Text(r.abs(name))
		if !ok {
			s = r.disk(name)
		}
		if name == "a" {
			lines = append(lines, typed...)
		}
		for _, l := range lines {
			if strings.Count(s, l) != 1 {
				t.Errorf("%s has %q %d times", name, l, strings.Count(s, l))
			}
		}
	}
	if n, files := r.l.Pending(); n != writers*edits1 || files != 2 {
		t.Errorf("%d hunks in %d files", n, files)
	}
	for range 3 { // decided from several sides at once, each hunk once
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := r.l.Resolve(ctx, edits.ResolveRequest{All: true, Decision: edits.Reject}); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if n := len(r.l.Verdicts(0)); n != writers*edits1 {
		t.Errorf("%d verdicts", n)
	}
	r.eq("b", r.disk("b"), start.String())
	s := r.buffer("a")
	for _, l := range typed {
		s = strings.Replace(s, l, "", 1)
	}
	r.eq("a, without what was typed", s, start.String())
}

func BenchmarkTypingUnderReview(b *testing.B) {
	var s strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&s, "line %d of a file of ordinary lines\n", i)
	}
	r := newRig(b, map[string]string{"a": s.String()})
	r.editor.Open(r.abs("a"))
	for i := range 20 {
		if _, err := r.change("t", edits.ModeReview, "a", fmt.Sprintf("line %d of", i*200+7), fmt.Sprintf("LINE %d of", i*200+7)); err != nil {
			b.Fatal(err)
		}
	}
	at := strings.Index(r.buffer("a"), "line 2500")
	for b.Loop() {
		if err := r.editor.Edit(r.abs("a"), []text.Edit{{Start: at, End: at, New: "x"}}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChangeOnDisk(b *testing.B) {
	r := newRig(b, map[string]string{"a": strings.Repeat("some line of a file\n", 500) + "n=0\n"})
	fs := r.l.Files(edits.Scope{TurnID: "t"})
	for b.Loop() {
		f, err := fs.Read(context.Background(), "a")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := fs.Change(context.Background(), tools.Change{Path: "a", Base: f.Data, New: append(f.Data, "more\n"...)}); err != nil {
			b.Fatal(err)
		}
	}
}
