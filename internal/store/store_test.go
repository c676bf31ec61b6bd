package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// writerEnv makes this test binary the process that TestKill kills.
const writerEnv = "AGENT_LSP_STORE_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		writeForever(path)
		return
	}
	os.Exit(m.Run())
}

// writeForever appends events and prints the number of each once Append has
// returned.
func writeForever(path string) {
	ctx := context.Background()
	s, err := Open(ctx, path)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for n := 0; ; n++ {
		if err := s.Append(ctx, "s", "main", cycle.UserMessage{ID: strconv.Itoa(n), Text: strings.Repeat("x", n%4096)}); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(n)
	}
}

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "state", "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func ids(t *testing.T, s *Store) (out []string) {
	t.Helper()
	for e, err := range s.Events(context.Background(), "s", "main") {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.Event.(cycle.UserMessage).ID)
	}
	return out
}

// STORE-1: what Append returned for is there after kill -9.
func TestKill(t *testing.T) {
	const kills, least = 5, 200
	for range kills {
		path := filepath.Join(t.TempDir(), "a.db")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writerEnv+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		last := -1
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if last, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatal(lines.Text())
			}
			if last == least {
				cmd.Process.Kill() // what it printed before it dies is read on
			}
		}
		cmd.Wait()
		s, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		got := ids(t, s)
		s.Close()
		if len(got) <= last {
			t.Fatalf("%d events were acknowledged, %d are there", last+1, len(got))
		}
		for i, id := range got {
			if id != strconv.Itoa(i) {
				t.Fatalf("event %d is %s", i, id)
			}
		}
	}
}

// STORE-2: events come back in order, equal to what went in.
func TestAppendEvents(t *testing.T) {
	s := open(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	in := []cycle.Event{
		cycle.UserMessage{ID: "m1", Text: "é <&>", Delivery: cycle.DeliverySteer, Time: at},
		cycle.PlanMade{RunID: "r", PlanID: "p", Call: 2, Tokens: 7, Time: at},
		cycle.ToolResult{CallID: "c", Status: cycle.ResultOK, Text: "a\x00b", MS: 3},
		cycle.RunStop{Reason: cycle.StopCompleted},
	}
	if err := s.Append(t.Context(), "s", "main", in...); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), "s", "other", in[0]); err != nil {
		t.Fatal(err)
	}
	var out []cycle.Event
	for e, err := range s.Events(t.Context(), "s", "main") {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.Event)
	}
	if d := cmp.Diff(in, out); d != "" {
		t.Error(d)
	}
	if n, err := s.Count(t.Context(), "s", "main", cycle.TypeRunStop); err != nil || n != 1 {
		t.Errorf("%d run-stops, %v", n, err)
	}
}

// Reading goes on over the page's end.
func TestEventsPages(t *testing.T) {
	s := open(t)
	var in []cycle.Event
	for n := range pageRows + 7 {
		in = append(in, cycle.UserMessage{ID: strconv.Itoa(n)})
	}
	if err := s.Append(t.Context(), "s", "main", in...); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, s); len(got) != len(in) || got[len(got)-1] != strconv.Itoa(len(in)-1) {
		t.Errorf("%d events come back of %d", len(got), len(in))
	}
}

// STORE-3: only the person can read the file.
func TestModes(t *testing.T) {
	s := open(t)
	for path, want := range map[string]os.FileMode{s.Path(): 0o600, filepath.Dir(s.Path()): 0o700} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
	}
}

// Writing twice is writing once, and a prefix of an id finds it.
func TestArtifacts(t *testing.T) {
	s := open(t)
	ctx := t.Context()
	a := Artifact{Kind: KindPlan, ID: "plan-0123456789", Session: "s", Turn: "t", Body: []byte("{}")}
	for range 2 {
		if err := s.Put(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Get(ctx, KindPlan, "plan-0123")
	if err != nil || got.ID != a.ID {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.Get(ctx, KindPlan, "plan-9"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown plan gives %v", err)
	}
	hashes, err := s.PutBlobs(ctx, [][]byte{[]byte("a"), nil, []byte("a")})
	if err != nil || hashes[0] != hashes[2] {
		t.Fatalf("%v, %v", hashes, err)
	}
	one, err := s.PutBlob(ctx, []byte("a"))
	if err != nil || one != hashes[0] {
		t.Errorf("one by one it is %s, %v", one, err)
	}
	if data, err := s.Blob(ctx, hashes[1]); err != nil || len(data) != 0 {
		t.Errorf("nothing comes back as %q, %v", data, err)
	}
}

// A file of another format, or none at all, is refused with words.
func TestUnusable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, []byte("this is no database, and long enough to be looked at as one: "+strings.Repeat("x", 4096)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("a file that is no database: %v", err)
	}
}
