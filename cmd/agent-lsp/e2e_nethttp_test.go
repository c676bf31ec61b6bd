package main

import (
	"encoding/json"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// answered is what --json prints, as a script reads it.
type answered struct {
	Response struct {
		Content string
		Success bool
	}
	Cycle           cycle.RequestCycle
	PlanIDs         []string
	RetrievalSetIDs []string
	Edits           []struct {
		Path, Status string
		Hunks        []struct {
			HunkID, BaseText, NewText string
			Range                     json.RawMessage
		}
	}
	Usage struct {
		Input, Output int
		Calls         []json.RawMessage
	}
}

func askJSON(t *testing.T, env []string, dir string, args ...string) answered {
	t.Helper()
	out := runIn(t, env, dir, append([]string{"ask", "--json"}, args...)...)
	if out.code != 0 {
		t.Fatalf("exit %d\n%s%s", out.code, out.stdout, out.stderr)
	}
	var a answered
	dec := json.NewDecoder(strings.NewReader(out.stdout))
	if err := dec.Decode(&a); err != nil || dec.More() {
		t.Fatalf("standard output is not one JSON object: %v\n%s", err, out.stdout)
	}
	return a
}

// citation is a path:line in an answer.
var citation = regexp.MustCompile(`([\w./-]+\.go):(\d+)`)

// cites tells whether an answer cites a line of the file that matches.
func cites(t *testing.T, dir, answer, file, line string) bool {
	t.Helper()
	want := regexp.MustCompile(line)
	for _, m := range citation.FindAllStringSubmatch(answer, -1) {
		n, _ := strconv.Atoi(m[2])
		lines := strings.Split(readFile(t, filepath.Join(dir, m[1])), "\n")
		if n < 1 || n > len(lines) {
			t.Errorf("%s is cited, and the file has %d lines", m[0], len(lines))
			continue
		}
		if m[1] == file && want.MatchString(lines[n-1]) {
			return true
		}
	}
	return false
}

// TestAskNetHTTP asks about a real repository: the right places are cited, and
// the line that is cited holds what was asked for.
func TestAskNetHTTP(t *testing.T) {
	t.Parallel()
	dir, env := netHTTP(t), home(t)
	for _, q := range []struct{ question, file, line string }{
		{"where is the idle connection timeout of a Transport applied?", "transport.go", `(?i)idle.?(conn)?.?time`},
		{"how does ServeMux choose between two patterns that both match?", "server.go", `more specific|most specific|precedence`},
		{"where are cookies parsed from a request header?", "cookie.go", `func readCookies`},
	} {
		a := askJSON(t, env, dir, q.question)
		if !a.Response.Success || !cites(t, dir, a.Response.Content, q.file, q.line) {
			t.Errorf("%s\nno line of %s that has %q is cited in:\n%s", q.question, q.file, q.line, a.Response.Content)
		}
		if a.Cycle.Status != cycle.CycleCompleted || len(a.Cycle.Steps) < 2 || len(a.Cycle.Rounds) == 0 || len(a.Edits) != 0 {
			t.Errorf("%s: cycle %s with %d steps and %d rounds, %d edits", q.question, a.Cycle.Status, len(a.Cycle.Steps), len(a.Cycle.Rounds), len(a.Edits))
		}
		if len(a.PlanIDs) != len(a.Cycle.Rounds) || len(a.RetrievalSetIDs) != 1 || len(a.Usage.Calls) != len(a.PlanIDs) || a.Usage.Input == 0 {
			t.Errorf("%s: %d plans, %d retrieval sets, %d calls for %d rounds", q.question, len(a.PlanIDs), len(a.RetrievalSetIDs), len(a.Usage.Calls), len(a.Cycle.Rounds))
		}
		if out := runIn(t, env, dir, "replay", a.PlanIDs[0]); out.code != 0 || out.stdout != "identical\n" {
			t.Errorf("replay of %s: exit %d, %s%s", a.PlanIDs[0], out.code, out.stdout, out.stderr)
		}
	}
}

// TestAskRenames: a rename changes all uses and nothing else, the package and
// its tests still compile, and without edits the disk stays as it is.
func TestAskRenames(t *testing.T) {
	t.Parallel()
	dir, env := netHTTP(t), home(t)
	before := snapshot(t, dir)
	const question = "rename the function readCookies to parseCookies everywhere"

	dry := askJSON(t, env, dir, "--no-edits", question)
	if changed := differences(before, snapshot(t, dir)); len(changed) > 0 {
		t.Fatalf("--no-edits changed %v", changed)
	}
	files := map[string]int{}
	for _, e := range dry.Edits {
		files[e.Path] = len(e.Hunks)
		for _, h := range e.Hunks {
			if e.Status != "pending" || !strings.Contains(h.BaseText, "readCookies") || !strings.Contains(h.NewText, "parseCookies") || len(h.Range) == 0 {
				t.Errorf("%s (%s): hunk %s turns %q into %q", e.Path, e.Status, h.HunkID, h.BaseText, h.NewText)
			}
		}
	}
	if files["cookie.go"] == 0 || files["request.go"] == 0 || files["cookie_test.go"] == 0 || len(files) != 3 {
		t.Errorf("hunks by file: %v", files)
	}
	if out := runIn(t, env, dir, "ask", "--continue"); out.code != 0 || !strings.Contains(out.stdout, "nothing pends") {
		t.Errorf("a dry run left something: %s", out.stdout)
	}

	wet := askJSON(t, env, dir, "--yes", question)
	for _, e := range wet.Edits {
		if e.Status != "accepted" {
			t.Errorf("%s is %s", e.Path, e.Status)
		}
	}
	changed := differences(before, snapshot(t, dir))
	if len(changed) != len(files) {
		t.Errorf("changed %v, proposed %v", changed, files)
	}
	for _, name := range changed {
		if files[name] == 0 {
			t.Errorf("%s was changed and not proposed", name)
		}
		want := renamed(t, before[name], "readCookies", "parseCookies")
		if got := identifiers(t, readFile(t, filepath.Join(dir, name))); got != want {
			t.Errorf("%s: its identifiers are not those of a rename of all uses", name)
		}
	}
	checkCompiles(t, dir, changed)
}

// checkCompiles type-checks net/http and its tests with the changed files in
// place of the originals.
func checkCompiles(t *testing.T, dir string, changed []string) {
	t.Helper()
	replace := map[string]string{}
	for _, name := range changed {
		replace[filepath.Join(runtime.GOROOT(), "src", "net", "http", filepath.FromSlash(name))] = filepath.Join(dir, filepath.FromSlash(name))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	// vet compiles the package for its external tests, and type-checks those
	// with the internal ones; one analyser is enough.
	if out, err := exec.Command("go", "vet", "-atomic", "-overlay", file, "net/http").CombinedOutput(); err != nil {
		t.Errorf("net/http doesn't compile any more: %v\n%s", err, out)
	}
}

// identifiers are a Go file's tokens without comments, one a line.
func identifiers(t *testing.T, text string) string {
	t.Helper()
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(text)), []byte(text), nil, 0)
	var b strings.Builder
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return b.String()
		}
		b.WriteString(tok.String() + " " + lit + "\n")
	}
}

// renamed are a file's tokens with one identifier renamed: an oracle that
// knows nothing of how we rename.
func renamed(t *testing.T, text, from, to string) string {
	return strings.ReplaceAll(identifiers(t, text), "IDENT "+from+"\n", "IDENT "+to+"\n")
}

// snapshot reads all files below a folder.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[path] = readFile(t, filepath.Join(dir, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// differences are the names of what is not the same.
func differences(a, b map[string]string) []string {
	var out []string
	for name, text := range a {
		if other, ok := b[name]; !ok || other != text {
			out = append(out, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			out = append(out, name)
		}
	}
	return out
}
