package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts plays testdata/script/*.txtar: what a person types in a shell,
// and what they see. Beside testscript's own commands there are
//
//	exits CODE PROGRAM ARG...    runs a program that ends with that code
//	json PATH [WANT]             reads the latest standard output as JSON: the value at PATH (a.0.b) is WANT,
//	                             or is there at all; WANT of the form =NAME keeps the value in $NAME
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			for name, sub := range map[string]string{"XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config"} {
				e.Setenv(name, filepath.Join(e.WorkDir, ".home", sub))
			}
			e.Setenv("AGENT_LSP_MODEL", "builtin")
			e.Setenv("PATH", filepath.Dir(binary)+string(filepath.ListSeparator)+e.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": scriptExits, "json": scriptJSON},
	})
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit %d, want %d", code, want)
	}
}

func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: json PATH [WANT]")
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	ts.Check(dec.Decode(&v))
	for part := range strings.SplitSeq(args[0], ".") {
		switch x := v.(type) {
		case map[string]any:
			ok := false
			if v, ok = x[part]; !ok {
				ts.Fatalf("there is no %s in it", part)
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(x) {
				ts.Fatalf("there is no %s in a list of %d", part, len(x))
			}
			v = x[i]
		default:
			ts.Fatalf("%v has no %s", v, part)
		}
	}
	if len(args) == 1 {
		return
	}
	got, ok := v.(string)
	if !ok {
		data, err := json.Marshal(v)
		ts.Check(err)
		got = string(data)
	}
	if name, keep := strings.CutPrefix(args[1], "="); keep {
		ts.Setenv(name, got)
	} else if got != args[1] {
		ts.Fatalf("%s is %s, want %s", args[0], got, args[1])
	}
}
