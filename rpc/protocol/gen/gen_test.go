package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

// TestGenerated writes every face again, in memory: none has drifted.
func TestGenerated(t *testing.T) {
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sorted(files) {
		have, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || !bytes.Equal(have, files[name]) {
			t.Errorf("%s is not what the protocol says now (%v); run: go generate ./rpc/...", name, err)
		}
	}
}

// TestDeterministic writes twice: nothing depends on a map's order.
func TestDeterministic(t *testing.T) {
	one, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	two, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name := range one {
		if !bytes.Equal(one[name], two[name]) {
			t.Errorf("%s came out otherwise the second time", name)
		}
	}
}

// TestEveryMethodHasItsPlace holds that each method is in each face.
func TestEveryMethodHasItsPlace(t *testing.T) {
	m, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		lists := [][]method{m.methods, m.notifications, m.requests}
		if name == "rpc/methods_gen.go" {
			lists = lists[:2] // the engine's side asks by agent.Client
		}
		for _, list := range lists {
			for _, x := range list {
				if !strings.Contains(string(data), x.name) {
					t.Errorf("%s lacks %s", name, x.name)
				}
			}
		}
	}
}

// TestLinks follows every link within docs/protocol.md.
func TestLinks(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	heads := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(data), -1) {
		heads["#"+strings.ToLower(strings.ReplaceAll(h[1], " ", "-"))] = true
	}
	for _, l := range regexp.MustCompile(`\]\((#[^)]+)\)`).FindAllStringSubmatch(string(data), -1) {
		if !heads[l[1]] {
			t.Errorf("the link %s leads nowhere", l[1])
		}
	}
}

// TestExampleIsShort holds the length that the docs promise.
func TestExampleIsShort(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "rpc", "testdata", "client.py"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte("\n")); n > 40 {
		t.Errorf("the example has %d lines", n)
	}
}

// TestLuaLoads has a Lua read its face, where there is one.
func TestLuaLoads(t *testing.T) {
	const script = `local m = dofile(arg[1]) assert(m.version == 1 and #m.methods > 30 and #m.notifications >= 6)`
	file := filepath.Join(root, "editors", "neovim", "lua", "agent-lsp", "protocol.lua")
	for _, try := range [][]string{{"nvim", "-l"}, {"luajit"}, {"lua"}} {
		if _, err := exec.LookPath(try[0]); err != nil {
			continue
		}
		path := filepath.Join(t.TempDir(), "check.lua")
		if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), try[0], append(try[1:], path, file)...).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	t.Skip("there is no Lua")
}

// TestBadProtocols shows what the generator refuses, and that it says why.
func TestBadProtocols(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"no wire name", "type S interface {\n// Does something.\n// More.\nX()\n}", "first line must be the wire name"},
		{"no comment", "type S interface {\n// agent/x\nX()\n}", "says nothing"},
		{"twice", "type S interface {\n// agent/x\n// One.\nX()\n// agent/x\n// Two.\nY()\n}", "is there twice"},
		{"no interface", "type S struct{}", "is no interface"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte("package x\n"+test.src), 0o644); err != nil {
				t.Fatal(err)
			}
			src, err := parseDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := src.methodDocs("S"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("gave %v, want %q", err, test.want)
			}
		})
	}
}
