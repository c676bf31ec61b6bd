package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agent-lsp/agent-lsp/tools"
	"github.com/agent-lsp/agent-lsp/tools/toolstest"
)

func TestBatchOrder(t *testing.T) {
	read := func(p string) tools.Call { return tools.Call{Name: "read", ReadOnly: true, Path: p} }
	write := func(p string) tools.Call { return tools.Call{Name: "write", Path: p} }
	bash := tools.Call{Name: "bash"}
	for _, tc := range []struct {
		name  string
		calls []tools.Call
		waits [][2]int // later waits for earlier
		free  [][2]int // both run at the same time
	}{
		{"reads", []tools.Call{read("a"), read("a"), read("")}, nil, [][2]int{{0, 1}, {1, 2}}},
		{"writes of one file", []tools.Call{write("a"), write("a"), write("./a")}, [][2]int{{1, 0}, {2, 1}}, nil},
		{"writes of two", []tools.Call{write("a"), write("b")}, nil, [][2]int{{0, 1}}},
		{"write then read", []tools.Call{write("a/b"), read("a/b"), read("a"), read("c"), read("")}, [][2]int{{1, 0}, {2, 0}, {4, 0}}, [][2]int{{0, 3}}},
		{"read then write", []tools.Call{read("a"), write("a")}, [][2]int{{1, 0}}, nil},
		{"bash waits for writes", []tools.Call{write("a"), bash}, [][2]int{{1, 0}}, nil},
		{"and writes for bash", []tools.Call{bash, write("a"), read("b")}, [][2]int{{1, 0}, {2, 0}}, [][2]int{{1, 2}}},
		{"bash beside bash", []tools.Call{bash, bash, bash, bash}, nil, [][2]int{{0, 1}, {1, 2}, {2, 3}}},
		{"names that only begin alike", []tools.Call{write("ab"), write("a")}, nil, [][2]int{{0, 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			together := map[int][]int{}
			for _, f := range tc.free {
				together[f[0]] = append(together[f[0]], f[1])
				together[f[1]] = append(together[f[1]], f[0])
			}
			began := make([]chan struct{}, len(tc.calls))
			var over [16]atomic.Bool
			for i := range began {
				began[i] = make(chan struct{})
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			tools.Batch(ctx, tc.calls, func(ctx context.Context, i int) tools.Result {
				close(began[i])
				for _, w := range tc.waits {
					if w[0] == i && !over[w[1]].Load() {
						t.Errorf("call %d began before call %d was over", i, w[1])
					}
				}
				for _, other := range together[i] { // it goes on only when the other runs too
					select {
					case <-began[other]:
					case <-ctx.Done():
						t.Errorf("call %d waited for call %d", other, i)
					}
				}
				over[i].Store(true)
				return tools.Result{}
			})
		})
	}
}

func TestBatchResults(t *testing.T) {
	calls := make([]tools.Call, 50)
	for i := range calls {
		calls[i] = tools.Call{Name: "read", ReadOnly: true, Path: fmt.Sprint(i)}
	}
	var now, most atomic.Int32
	got := tools.Batch(context.Background(), calls, func(_ context.Context, i int) tools.Result {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		if i == 7 {
			panic("call seven")
		}
		return tools.Result{Status: tools.StatusOK, Text: fmt.Sprint(i)}
	})
	for i, r := range got {
		if i == 7 {
			if r.Status != tools.StatusError || !strings.Contains(r.Text, "call seven") {
				t.Errorf("the panic became %+v", r)
			}
		} else if r.Text != fmt.Sprint(i) {
			t.Errorf("result %d is %+v", i, r)
		}
	}
	if most.Load() > tools.BatchParallel {
		t.Errorf("%d ran at once", most.Load())
	}
	if len(tools.Batch(context.Background(), nil, nil)) != 0 {
		t.Error("no calls gave results")
	}
}

func TestBatchCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var ran sync.Map
	calls := make([]tools.Call, 100)
	got := tools.Batch(ctx, calls, func(ctx context.Context, i int) tools.Result {
		ran.Store(i, true)
		cancel()
		<-ctx.Done()
		return tools.Result{Status: tools.StatusCancelled}
	})
	n := 0
	ran.Range(func(any, any) bool { n++; return true })
	if n > tools.BatchParallel {
		t.Errorf("%d calls began, most of them after the cancel", n)
	}
	for i, r := range got {
		if r.Status != tools.StatusCancelled {
			t.Errorf("result %d is %+v", i, r)
		}
	}
}

// TestBatchAsInSequence: whatever the calls, files end up as if the calls had
// run one after the other.
func TestBatchAsInSequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		calls := make([]tools.Call, n)
		for i := range calls {
			p := rapid.SampledFrom([]string{"a", "b", "c/d", "c"}).Draw(t, "path")
			calls[i] = tools.Call{Name: "x", Path: p, ReadOnly: rapid.Bool().Draw(t, "read")}
		}
		play := func(all func(do func(i int))) (map[string]string, []string) {
			var mu sync.Mutex
			files, seen := map[string]string{}, make([]string, n)
			all(func(i int) {
				mu.Lock()
				defer mu.Unlock()
				if calls[i].ReadOnly {
					seen[i] = files[calls[i].Path]
				} else {
					files[calls[i].Path] += fmt.Sprint(i, " ")
				}
			})
			return files, seen
		}
		wantFiles, wantSeen := play(func(do func(int)) {
			for i := range calls {
				do(i)
			}
		})
		gotFiles, gotSeen := play(func(do func(int)) {
			tools.Batch(context.Background(), calls, func(_ context.Context, i int) tools.Result { do(i); return tools.Result{} })
		})
		if fmt.Sprint(gotFiles, gotSeen) != fmt.Sprint(wantFiles, wantSeen) {
			t.Fatalf("%v\ngot  %v %v\nwant %v %v", calls, gotFiles, gotSeen, wantFiles, wantSeen)
		}
	})
}

// TestBatchBash: four commands that each take a second take much less than
// four together; and a command sees the write before it.
func TestBatchBash(t *testing.T) {
	s, root := newShell(t)
	reg := tools.NewRegistry(tools.Builtin()...)
	env := tools.Env{Root: root, Files: toolstest.New(nil), Shell: s}
	bash := func(ctx context.Context, line string) tools.Result {
		args, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Error(err)
		}
		return reg.Run(ctx, env, "bash", args)
	}
	four := make([]tools.Call, 4)
	start := time.Now()
	for i, r := range tools.Batch(context.Background(), four, func(ctx context.Context, i int) tools.Result {
		return bash(ctx, fmt.Sprintf("sleep 1; echo call %d", i))
	}) {
		if want := fmt.Sprintf("call %d\n", i); r.Status != tools.StatusOK || r.Text != want {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	took := time.Since(start)
	t.Logf("four commands of one second took %s", took.Round(time.Millisecond))
	if took > 3*time.Second {
		t.Errorf("four commands of a second took %s", took)
	}
	// A cancel stops all of them, at once, and leaves none running.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var markers []string
	lines := make([]string, len(four))
	for i := range lines {
		line, marker := mark("sleep %s")
		lines[i] = line
		markers = append(markers, marker)
	}
	go func() {
		for _, m := range markers {
			waitFor(t, "the command to start", func() bool { return len(alive(t, m)) > 0 })
		}
		start = time.Now()
		cancel()
	}()
	for i, r := range tools.Batch(ctx, four, func(ctx context.Context, i int) tools.Result { return bash(ctx, lines[i]) }) {
		if r.Status != tools.StatusCancelled {
			t.Errorf("result %d after a cancel: %+v", i, r)
		}
	}
	t.Logf("a cancel stopped four commands in %s", time.Since(start).Round(time.Millisecond))
	for _, m := range markers {
		if left := alive(t, m); len(left) > 0 {
			t.Errorf("still running: %v", left)
		}
	}
	calls := []tools.Call{{Name: "write", Path: "f"}, {Name: "bash"}}
	got := tools.Batch(context.Background(), calls, func(ctx context.Context, i int) tools.Result {
		if i == 0 {
			if err := os.WriteFile(filepath.Join(root, "f"), []byte("written\n"), 0o644); err != nil {
				t.Error(err)
			}
			return tools.Result{}
		}
		return reg.Run(ctx, env, "bash", []byte(`{"command":"cat f"}`))
	})
	if got[1].Text != "written\n" {
		t.Errorf("the command saw %+v", got[1])
	}
}
