package edits_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/agent/edits/editstest"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/tools"
)

// steps counts what the random tests did, over all histories.
var steps atomic.Int64

// TestMain chooses the seed of the random tests, and prints it, so that what is
// found can be found again: -rapid.seed=…. RANDOM_SEED says which (make test
// takes the commit's own, so that one commit is one verdict); else it is
// another one each time.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	set := func(name string, value any) {
		if !given[name] {
			if err := flag.Set(name, fmt.Sprint(value)); err != nil {
				panic(err)
			}
		}
	}
	if !testing.Short() {
		set("rapid.checks", randomHistories)
	}
	seed := os.Getenv("RANDOM_SEED")
	if seed == "" {
		seed = fmt.Sprint(time.Now().UnixNano())
	}
	set("rapid.seed", seed)
	fmt.Printf("random tests: -rapid.checks=%v -rapid.seed=%v\n", flag.Lookup("rapid.checks").Value, flag.Lookup("rapid.seed").Value)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		fmt.Printf("random tests: %d steps\n", steps.Load())
		os.Exit(code)
	}))
}

// rig is a ledger over a folder, with an editor and a store.
type rig struct {
	t      testing.TB
	dir    string
	ws     *workspace.Workspace
	store  *editstest.Store
	editor *editstest.Editor
	l      *edits.Ledger
	seen   []edits.Changed
}

func newRig(t testing.TB, files map[string]string) *rig {
	r := newRigIn(t, t.TempDir(), files)
	t.Cleanup(r.close)
	return r
}

// newRigIn is for tests that make many, and close each.
func newRigIn(t testing.TB, dir string, files map[string]string) *rig {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: dir, store: editstest.NewStore(), editor: editstest.NewEditor(text.UTF16)}
	for name, s := range files {
		r.write(name, s)
	}
	r.start()
	return r
}

func (r *rig) close() { r.ws.Close() }

// memoryDir makes a folder on a file system in memory where there is one:
// random tests write a lot, and what a disk does at fsync is not their subject.
func memoryDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "agent-lsp-edits-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// start makes a ledger from what is in the store and on disk.
func (r *rig) start() {
	if r.ws != nil {
		r.ws.Close()
	}
	ws, err := workspace.Open([]string{r.dir})
	if err != nil {
		r.t.Fatal(err)
	}
	r.ws = ws
	r.l = edits.New(edits.Config{Journal: r.store, Blobs: r.store, Workspace: ws, Editor: r.editor, Salt: "t",
		Changed: func(c edits.Changed) { r.seen = append(r.seen, c) }})
	events, err := r.store.Events()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.l.Load(context.Background(), events); err != nil {
		r.t.Fatal(err)
	}
	r.editor.Connect(r.l)
}

func (r *rig) abs(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) write(name, s string) {
	if err := os.MkdirAll(filepath.Dir(r.abs(name)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.abs(name), []byte(s), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// disk is a file's content, "<none>" when it isn't there.
func (r *rig) disk(name string) string {
	b, err := os.ReadFile(r.abs(name))
	if errors.Is(err, os.ErrNotExist) {
		return "<none>"
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *rig) buffer(name string) string {
	s, ok := r.editor.Text(r.abs(name))
	if !ok {
		r.t.Fatalf("%s is not open", name)
	}
	return s
}

func (r *rig) files(turn string, mode edits.Mode) *edits.Files {
	return r.l.Files(edits.Scope{SessionID: "s1", TurnID: turn, Mode: mode})
}

// change replaces one text by another in a file, as the agent's edit tool does.
func (r *rig) change(turn string, mode edits.Mode, name, from, to string) (tools.Applied, error) {
	fs := r.files(turn, mode)
	f, err := fs.Read(context.Background(), name)
	if err != nil {
		return tools.Applied{}, err
	}
	if !strings.Contains(string(f.Data), from) {
		r.t.Fatalf("%s has no %q: %q", name, from, f.Data)
	}
	return fs.Change(context.Background(), tools.Change{Path: name, CallID: "c", Base: f.Data, New: []byte(strings.Replace(string(f.Data), from, to, 1))})
}

func (r *rig) mustChange(turn string, mode edits.Mode, name, from, to string) tools.Applied {
	r.t.Helper()
	a, err := r.change(turn, mode, name, from, to)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *rig) resolve(q edits.ResolveRequest) []edits.ResolveResult {
	r.t.Helper()
	res, err := r.l.Resolve(context.Background(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

func (r *rig) eq(what, got, want string) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s is %q, want %q", what, got, want)
	}
}

// current is a file as the agent sees it.
func (r *rig) current(name string) string {
	r.t.Helper()
	f, err := r.files("", edits.ModeReview).Read(context.Background(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(f.Data)
}

func (r *rig) hunks() string {
	var out []string
	for _, h := range r.l.Hunks(edits.Filter{}) {
		at := h.At.In(text.UTF16)
		s := fmt.Sprintf("%s:%d-%d %q→%q %s", h.Path, at.Start.Line, at.End.Line, h.BaseText, h.NewText, h.Status)
		if h.Held {
			s += " held"
		}
		if h.File != "" {
			s += " " + h.File
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// typeAfter types s behind the first occurrence of at in a buffer.
func (r *rig) typeAfter(name, at, s string) {
	r.t.Helper()
	b := r.buffer(name)
	i := strings.Index(b, at)
	if i < 0 {
		r.t.Fatalf("no %q in %q", at, b)
	}
	i += len(at)
	if err := r.editor.Edit(r.abs(name), []text.Edit{{Start: i, End: i, New: s}}); err != nil {
		r.t.Fatal(err)
	}
}

const abc = "a\nb\nc\nd\ne\nf\n"

func TestReviewOnDisk(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": abc})
	a := r.mustChange("t1", edits.ModeReview, "a.go", "b\n", "B\n")
	if !a.Written || len(a.HunkIDs) != 1 || a.Added != 1 || a.Removed != 1 || a.Note != "1 hunk waits for review" {
		t.Errorf("applied: %+v", a)
	}
	r.eq("disk", r.disk("a.go"), "a\nB\nc\nd\ne\nf\n")
	r.mustChange("t1", edits.ModeReview, "a.go", "e\n", "E\nE2\n")
	r.eq("hunks", r.hunks(), `a.go:1-2 "b\n"→"B\n" pending; a.go:4-6 "e\n"→"E\nE2\n" pending`)
	res := r.resolve(edits.ResolveRequest{HunkIDs: a.HunkIDs, Decision: edits.Reject, Reason: "no"})
	if len(res) != 1 || res[0].Outcome != edits.OutcomeResolved {
		t.Errorf("results: %+v", res)
	}
	r.eq("disk", r.disk("a.go"), "a\nb\nc\nd\nE\nE2\nf\n")
	if v := r.l.Verdicts(0); len(v) != 1 || v[0].Reason != "no" || v[0].Decision != "reject" || v[0].Line != 1 || v[0].TurnID != "t1" {
		t.Errorf("verdicts: %+v", v)
	}
	if _, err := r.l.UndoReject(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.eq("disk", r.disk("a.go"), "a\nB\nc\nd\nE\nE2\nf\n")
	r.eq("hunks", r.hunks(), `a.go:1-2 "b\n"→"B\n" pending; a.go:4-6 "e\n"→"E\nE2\n" pending`)
	r.resolve(edits.ResolveRequest{All: true, Decision: edits.Accept})
	r.eq("hunks", r.hunks(), "")
	r.eq("disk", r.disk("a.go"), "a\nB\nc\nd\nE\nE2\nf\n")
	if v := r.l.Verdicts(2); len(v) != 2 || v[1].Decision != "accept" {
		t.Errorf("verdicts: %+v", v)
	}
	if last := r.seen[len(r.seen)-1]; last.Pending != 0 || len(last.Paths) != 1 || last.SessionIDs[0] != "s1" {
		t.Errorf("changed: %+v", last)
	}
}

func TestReviewInTheEditor(t *testing.T) {
	for _, late := range []bool{false, true} {
		r := newRig(t, map[string]string{"a.go": abc})
		r.editor.Late = late
		r.editor.Open(r.abs("a.go"))
		r.mustChange("t1", edits.ModeReview, "a.go", "b\n", "B\n")
		r.eq("buffer", r.buffer("a.go"), "a\nB\nc\nd\ne\nf\n")
		r.eq("disk", r.disk("a.go"), "a\nB\nc\nd\ne\nf\n") // saved, because the buffer was clean
		r.typeAfter("a.go", "d\n", "new\n")
		r.mustChange("t1", edits.ModeReview, "a.go", "e\n", "E\n")
		r.eq("buffer", r.buffer("a.go"), "a\nB\nc\nd\nnew\nE\nf\n")
		r.eq("disk", r.disk("a.go"), "a\nB\nc\nd\ne\nf\n") // the person has not saved
		if !r.editor.Undo(r.abs("a.go")) {
			t.Fatal("no undo")
		}
		r.eq("hunks after undo", r.hunks(), `a.go:1-2 "b\n"→"B\n" pending`)
		r.editor.Redo(r.abs("a.go"))
		r.eq("hunks after redo", r.hunks(), `a.go:1-2 "b\n"→"B\n" pending; a.go:5-6 "e\n"→"E\n" pending`)
		r.resolve(edits.ResolveRequest{All: true, Decision: edits.Reject})
		r.eq("buffer", r.buffer("a.go"), "a\nb\nc\nd\nnew\ne\nf\n")
		r.editor.Undo(r.abs("a.go"))
		r.eq("hunks after undo of the reject", r.hunks(), `a.go:1-2 "b\n"→"B\n" pending; a.go:5-6 "e\n"→"E\n" pending`)
		if errs := r.editor.Wait(); errs != nil {
			t.Error(errs)
		}
	}
}

func TestTypingDuringApply(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": abc})
	r.editor.Open(r.abs("a.go"))
	n := 0
	r.editor.Before = func(string) {
		if n++; n < 4 {
			r.typeAfter("a.go", "f\n", fmt.Sprintf("typed %d\n", n))
		}
	}
	r.mustChange("t1", edits.ModeReview, "a.go", "b\n", "B\n")
	r.eq("buffer", r.buffer("a.go"), "a\nB\nc\nd\ne\nf\ntyped 3\ntyped 2\ntyped 1\n")
	r.eq("hunks", r.hunks(), `a.go:1-2 "b\n"→"B\n" pending`)
	// On the same line the agent has to give way.
	n = 0
	r.editor.Before = func(string) {
		if n++; n == 1 {
			r.typeAfter("a.go", "c", "ompany")
		}
	}
	_, err := r.change("t1", edits.ModeReview, "a.go", "c\n", "C\n")
	var stale *tools.StaleError
	if !errors.As(err, &stale) || !strings.Contains(stale.What, "line 3") {
		t.Errorf("error: %v", err)
	}
	r.eq("buffer", r.buffer("a.go"), "a\nB\ncompany\nd\ne\nf\ntyped 3\ntyped 2\ntyped 1\n")
	// And it doesn't try for ever.
	r.editor.Before = func(string) { r.typeAfter("a.go", "f\n", "again\n") }
	_, err = r.change("t1", edits.ModeReview, "a.go", "d\n", "D\n")
	if !errors.As(err, &stale) {
		t.Errorf("error: %v", err)
	}
	r.eq("hunks", r.hunks(), `a.go:1-2 "b\n"→"B\n" pending`)
	r.editor.Before = nil
	r.resolve(edits.ResolveRequest{All: true, Decision: edits.Reject})
	if got := r.buffer("a.go"); !strings.HasPrefix(got, "a\nb\ncompany\nd\n") {
		t.Errorf("buffer: %q", got)
	}
}

func TestEditorSaysNo(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": abc})
	r.editor.Open(r.abs("a.go"))
	r.editor.Refuse = errors.New("connection lost")
	if _, err := r.change("t1", edits.ModeReview, "a.go", "b\n", "B\n"); err == nil || !strings.Contains(err.Error(), "connection lost") {
		t.Errorf("error: %v", err)
	}
	r.eq("hunks", r.hunks(), "")
	r.eq("buffer", r.buffer("a.go"), abc)
	r.editor.Refuse, r.editor.Deny = nil, true
	var pe *tools.PathError
	if _, err := r.change("t1", edits.ModeReview, "a.go", "b\n", "B\n"); !errors.As(err, &pe) {
		t.Errorf("error: %v", err)
	}
	r.eq("hunks", r.hunks(), "")
	if c := r.l.Checkpoints(""); len(c) != 0 {
		t.Errorf("checkpoints of withdrawn edits: %+v", c)
	}
}

// TestEditorWithoutEdits: a client that opens documents and takes no edits gets
// them on disk, one after the other, and what it types is taken in all the same.
func TestEditorWithoutEdits(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": abc})
	r.editor.Open(r.abs("a.go"))
	r.l.SetEditor(nil)
	r.mustChange("t1", edits.ModeReview, "a.go", "b\n", "B\n")
	a := r.mustChange("t1", edits.ModeReview, "a.go", "e\n", "E\n")
	r.eq("disk", r.disk("a.go"), "a\nB\nc\nd\nE\nf\n")
	r.eq("hunks", r.hunks(), `a.go:1-2 "b\n"→"B\n" pending; a.go:4-5 "e\n"→"E\n" pending`)
	r.resolve(edits.ResolveRequest{HunkIDs: a.HunkIDs, Decision: edits.Reject})
	r.eq("disk", r.disk("a.go"), "a\nB\nc\nd\ne\nf\n")
	// It loads the file anew, as editors do, and goes on.
	if err := r.editor.Edit(r.abs("a.go"), text.Diff(abc, r.disk("a.go"))); err != nil {
		t.Fatal(err)
	}
	if err := r.editor.Save(r.abs("a.go")); err != nil {
		t.Fatal(err)
	}
	r.typeAfter("a.go", "d\n", "typed\n")
	r.eq("hunks", r.hunks(), `a.go:1-2 "b\n"→"B\n" pending`)
	if _, err := r.change("t2", edits.ModeReview, "a.go", "f\n", "F\n"); err == nil || !strings.Contains(err.Error(), "unsaved changes") {
		t.Errorf("an edit under unsaved changes: %v", err)
	}
	if s := r.current("a.go"); !strings.Contains(s, "typed\n") {
		t.Errorf("the agent sees %q", s)
	}
}

func TestAskMode(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": abc})
	a := r.mustChange("t1", edits.ModeAsk, "a.go", "b\n", "B\n")
	if a.Written || !strings.HasPrefix(a.Note, "not written yet: 1 hunk waits") {
		t.Errorf("applied: %+v", a)
	}
	r.eq("disk", r.disk("a.go"), abc)
	r.mustChange("t1", edits.ModeAsk, "a.go", "B\n", "B2\n") // it works on its overlay
	r.eq("hunks", r.hunks(), `a.go:1-2 "b\n"→"B2\n" pending held`)
	r.editor.Open(r.abs("a.go"))
	r.typeAfter("a.go", "a\n", "mine\n")
	r.eq("hunks", r.hunks(), `a.go:2-3 "b\n"→"B2\n" pending held`)
	f, err := r.files("t1", edits.ModeAsk).Read(context.Background(), "a.go")
	if err != nil {
		t.Fatal(err)
	}
	r.eq("the agent's view", string(f.Data), "a\nmine\nB2\nc\nd\ne\nf\n")
	r.resolve(edits.ResolveRequest{EditID: a.EditID, Decision: edits.Accept})
	r.eq("buffer", r.buffer("a.go"), "a\nmine\nB2\nc\nd\ne\nf\n")
	r.eq("hunks", r.hunks(), "")
}

func TestConflictKeepsBoth(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": abc})
	r.editor.Open(r.abs("a.go"))
	a := r.mustChange("t1", edits.ModeReview, "a.go", "b\n", "bar(1)\n")
	r.typeAfter("a.go", "bar(1", "2")
	r.eq("hunks", r.hunks(), `a.go:1-2 "b\n"→"bar(12)\n" conflict`)
	res := r.resolve(edits.ResolveRequest{HunkIDs: a.HunkIDs, Decision: edits.Reject})
	if len(res) != 1 || res[0].Outcome != edits.OutcomeConflict || !strings.Contains(res[0].Detail, "a.go:2") {
		t.Errorf("results: %+v", res)
	}
	r.eq("buffer", r.buffer("a.go"), "a\nb\nbar(12)\nc\nd\ne\nf\n")
	if _, err := r.l.UndoReject(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.eq("hunks", r.hunks(), `a.go:1-2 "b\n"→"bar(12)\n" conflict`)
	r.editor.Undo(r.abs("a.go")) // of the undo
	r.editor.Undo(r.abs("a.go")) // of the reject
	r.editor.Undo(r.abs("a.go")) // of the typing
	r.eq("buffer", r.buffer("a.go"), "a\nbar(1)\nc\nd\ne\nf\n")
	r.eq("hunks", r.hunks(), `a.go:1-2 "b\n"→"bar(1)\n" pending`)
}

func TestCreateAndDelete(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": abc})
	ctx := context.Background()
	fs := r.files("t1", edits.ModeReview)
	if _, err := fs.Change(ctx, tools.Change{Path: "new/x.go", New: []byte("x\n"), Mode: 0o755}); err != nil {
		t.Fatal(err)
	}
	r.eq("disk", r.disk("new/x.go"), "x\n")
	if fi, _ := os.Stat(r.abs("new/x.go")); fi.Mode().Perm() != 0o755 {
		t.Errorf("mode %v", fi.Mode())
	}
	if _, err := fs.Change(ctx, tools.Change{Path: "new/x.go", New: []byte("y\n")}); err == nil {
		t.Error("created twice")
	}
	if _, err := fs.Change(ctx, tools.Change{Path: "a.go", Base: []byte(abc)}); err != nil {
		t.Fatal(err)
	}
	r.eq("disk", r.disk("a.go"), "<none>")
	if _, err := fs.Read(ctx, "a.go"); err == nil {
		t.Error("a deleted file was read")
	}
	r.eq("hunks", r.hunks(), `a.go:0-0 "a\nb\nc\nd\ne\nf\n"→"" pending deleted; new/x.go:0-1 ""→"x\n" pending created`)
	r.resolve(edits.ResolveRequest{TurnID: "t1", Decision: edits.Reject})
	r.eq("disk", r.disk("a.go"), abc)
	r.eq("disk", r.disk("new/x.go"), "<none>")
	if _, err := r.l.UndoReject(ctx); err != nil {
		t.Fatal(err)
	}
	r.eq("disk", r.disk("a.go"), "<none>")
	r.eq("disk", r.disk("new/x.go"), "x\n")
	r.resolve(edits.ResolveRequest{All: true, Decision: edits.Accept})
	r.eq("disk", r.disk("a.go"), "<none>")
	r.eq("hunks", r.hunks(), "")
	// Held back, they are only seen by the agent.
	ask := r.files("t2", edits.ModeAsk)
	if _, err := ask.Change(ctx, tools.Change{Path: "y.go", New: []byte("y\n")}); err != nil {
		t.Fatal(err)
	}
	r.eq("disk", r.disk("y.go"), "<none>")
	var names []string
	if err := ask.Walk(ctx, ".", func(i tools.Info) bool { names = append(names, i.Path); return true }); err != nil {
		t.Fatal(err)
	}
	r.eq("walk", strings.Join(names, " "), "new/x.go y.go")
	list, err := ask.List(ctx, ".")
	if err != nil || len(list) != 2 || list[1].Path != "y.go" || list[1].Size != 2 {
		t.Errorf("list: %+v, %v", list, err)
	}
	r.resolve(edits.ResolveRequest{Path: "y.go", Decision: edits.Accept})
	r.eq("disk", r.disk("y.go"), "y\n")
}

func TestRestore(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": abc, "b.go": abc})
	ctx := context.Background()
	r.mustChange("t1", edits.ModeReview, "a.go", "b\n", "B\n")
	r.resolve(edits.ResolveRequest{All: true, Decision: edits.Accept})
	r.mustChange("t2", edits.ModeReview, "a.go", "c\n", "C\n")
	r.mustChange("t2", edits.ModeReview, "b.go", "c\n", "C\n")
	r.mustChange("t3", edits.ModeReview, "b.go", "e\n", "E\n")
	c := r.l.Checkpoints("s1")
	if len(c) != 3 || c[1].TurnID != "t2" || len(c[1].Files) != 2 || c[1].Files[1].Added != 2 {
		t.Errorf("checkpoints: %+v", c)
	}
	r.write("b.go", r.disk("b.go")+"by hand\n")
	r.l.DiskChanged([]string{"b.go"})
	res, err := r.l.RestoreTurn(ctx, "t2")
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Files) != 1 || res.Files[0].Path != "a.go" || len(res.Skipped) != 1 || res.Skipped[0].Path != "b.go" {
		t.Errorf("restored: %+v", res)
	}
	r.eq("disk", r.disk("a.go"), "a\nB\nc\nd\ne\nf\n")
	r.eq("disk", r.disk("b.go"), "a\nb\nC\nd\nE\nf\nby hand\n")
	back, err := r.l.RedoRestore(ctx, res.OpID)
	if err != nil || len(back.Files) != 1 {
		t.Errorf("redo: %+v, %v", back, err)
	}
	r.eq("disk", r.disk("a.go"), "a\nB\nC\nd\ne\nf\n")
	r.eq("hunks", strings.Split(r.hunks(), ";")[0], `a.go:2-3 "c\n"→"C\n" pending`)
	if d := r.l.TurnDiff("t2")["a.go"]; !strings.Contains(d, "-c\n+C\n") {
		t.Errorf("diff: %s", d)
	}
}

func TestRestoreKeepsWhatWasTypedBetween(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": abc})
	r.editor.Open(r.abs("a.go"))
	r.mustChange("t1", edits.ModeReview, "a.go", "b\n", "B\n")
	r.typeAfter("a.go", "d\n", "mine\n")
	r.mustChange("t1", edits.ModeReview, "a.go", "f\n", "F\n")
	if _, err := r.l.RestoreTurn(context.Background(), "t1"); err != nil {
		t.Fatal(err)
	}
	r.eq("buffer", r.buffer("a.go"), "a\nb\nc\nd\nmine\ne\nf\n")
}

// TestRestoreOfALineThatCameBack: the agent had read a line of the person's;
// they deleted it; a held hunk that quotes it was accepted. Restoring would take
// away the copy that is left, so the file is left alone and named. (Found by
// TestRandomLedger with the seed 1795233903689557471, and once more after a
// reject had kept both texts.)
func TestRestoreOfALineThatCameBack(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": "one\nx\ny\n"})
	r.editor.Open(r.abs("a.go"))
	r.typeAfter("a.go", "one\n", "mine\n")
	r.mustChange("t1", edits.ModeAsk, "a.go", "one\nmine\n", "ONE\nmine\n")
	if err := r.editor.Edit(r.abs("a.go"), []text.Edit{{Start: 0, End: len("one\nmine\n"), New: "other\n"}}); err != nil {
		t.Fatal(err)
	}
	r.mustChange("t1", edits.ModeAsk, "a.go", r.current("a.go"), "ONE\nmine\nx\ny\n")
	r.resolve(edits.ResolveRequest{All: true, Decision: edits.Accept})
	r.eq("accepted", r.buffer("a.go"), "ONE\nmine\nx\ny\n")
	r.typeAfter("a.go", "y\n", "typed\n")
	r.mustChange("t2", edits.ModeReview, "a.go", "ONE\n", "1\n")
	res, err := r.l.RestoreTurn(context.Background(), "t1")
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Files) != 0 || len(res.Skipped) != 1 || !strings.Contains(res.Skipped[0].Skipped, "by hand between") {
		t.Errorf("restored: %+v", res)
	}
	r.eq("buffer", r.buffer("a.go"), "1\nmine\nx\ny\ntyped\n")
}

// TestRestoreIgnoresWhatWasTakenBack: what the person typed between two of the
// agent's edits, and then took back themselves, is not done again by a restore.
// (Found by TestRandomLedger with the seed 1795237207115798691.)
func TestRestoreIgnoresWhatWasTakenBack(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": "one\nkeep\nx\n"})
	r.editor.Open(r.abs("a.go"))
	r.mustChange("t1", edits.ModeReview, "a.go", "x\n", "X\n")
	if err := r.editor.Edit(r.abs("a.go"), []text.Edit{{Start: 0, End: len("one\nkeep\n"), New: "other\n"}}); err != nil {
		t.Fatal(err)
	}
	r.mustChange("t2", edits.ModeAsk, "a.go", "X\n", "XX\n") // held: the text stays as it is
	if !r.editor.Undo(r.abs("a.go")) {
		t.Fatal("nothing to undo")
	}
	r.eq("undone", r.buffer("a.go"), "one\nkeep\nX\n")
	if _, err := r.l.RestoreTurn(context.Background(), "t1"); err != nil {
		t.Fatal(err)
	}
	r.eq("restored", r.buffer("a.go"), "one\nkeep\nx\n")
}

// TestRestoreOfAnAcceptedHunk: a turn whose hunks were held back and accepted
// later has changed the file, and can be restored.
func TestRestoreOfAnAcceptedHunk(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": abc})
	r.mustChange("t1", edits.ModeAsk, "a.go", "b\n", "B\n")
	r.resolve(edits.ResolveRequest{All: true, Decision: edits.Accept})
	r.eq("accepted", r.disk("a.go"), "a\nB\nc\nd\ne\nf\n")
	if _, err := r.l.RestoreTurn(context.Background(), "t1"); err != nil {
		t.Fatal(err)
	}
	r.eq("restored", r.disk("a.go"), abc)
}

func TestNothingBeforeTheJournal(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": abc})
	r.store.Fail = func(cycle.Event) error { return errors.New("disk full") }
	_, err := r.change("t1", edits.ModeReview, "a.go", "b\n", "B\n")
	if err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error: %v", err)
	}
	r.eq("disk", r.disk("a.go"), abc)
	r.eq("hunks", r.hunks(), "")
	r.store.Fail = nil
	a := r.mustChange("t1", edits.ModeReview, "a.go", "b\n", "B\n")
	r.store.Fail = func(cycle.Event) error { return errors.New("disk full") }
	if _, err := r.l.Resolve(context.Background(), edits.ResolveRequest{HunkIDs: a.HunkIDs, Decision: edits.Reject}); err == nil {
		t.Error("a decision that was not written down succeeded")
	}
	r.eq("disk", r.disk("a.go"), "a\nB\nc\nd\ne\nf\n")
}
