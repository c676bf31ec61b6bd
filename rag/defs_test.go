package rag

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each archive holds sources and, as "defs", what is found in them. A language or a
// construction more is a file more.
func TestDefinitionsGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/defs/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no archives", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			golden := -1
			for i, f := range a.Files {
				if f.Name == "defs" {
					golden = i
					continue
				}
				for _, d := range definitions(f.Name, splitLines(f.Data), f.Data) {
					fmt.Fprintf(&got, "%s:%d-%d %s %s", f.Name, d.Start, d.End, d.Kind, d.Name)
					if d.Container != "" {
						fmt.Fprintf(&got, " in %s", d.Container)
					}
					got.WriteByte('\n')
				}
			}
			if *update {
				g := txtar.File{Name: "defs", Data: []byte(got.String())}
				if golden < 0 {
					a.Files = append(a.Files, g)
				} else {
					a.Files[golden] = g
				}
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if golden < 0 {
				t.Fatal("no defs in the archive: run with -update")
			}
			if d := cmp.Diff(string(a.Files[golden].Data), got.String()); d != "" {
				t.Errorf("(-golden +got):\n%s", d)
			}
		})
	}
}

// checkChunks holds what every chunking must keep.
func checkChunks(p string, src []byte) error {
	lines := splitLines(src)
	defs := definitions(p, lines, src)
	last := 0
	for _, d := range defs {
		if d.Start < 1 || d.End < d.Start || d.End > len(lines) || d.Name == "" {
			return fmt.Errorf("definition %+v of %d lines", d, len(lines))
		}
		_ = last
	}
	starts := chunkStarts(langOf(p), lines, defs)
	for i, s := range starts {
		if i == 0 && s != 0 || i > 0 && s <= starts[i-1] || s >= max(1, len(lines)) {
			return fmt.Errorf("chunks %v of %d lines", starts, len(lines))
		}
		end := len(lines)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		if end-s > chunkMax+chunkMin {
			return fmt.Errorf("a chunk of %d lines", end-s)
		}
	}
	return nil
}

func FuzzChunks(f *testing.F) {
	exts := []string{"go", "py", "ts", "rs", "c", "java", "rb", "sh", "tcl", "lua", "md", "vim", "php", "txt"}
	f.Add(uint8(0), []byte("package p\n\nfunc F() {\n}\n"))
	f.Add(uint8(1), []byte("class A:\n  def f(\n    self,\n  ):\n    pass\n"))
	f.Add(uint8(4), []byte("#define X(a) \\\n a\nstatic int f(void)\n{\nout:\n}\n"))
	f.Fuzz(func(t *testing.T, ext uint8, src []byte) {
		if len(src) > 1<<16 {
			return
		}
		p := "d/f." + exts[int(ext)%len(exts)]
		if err := checkChunks(p, src); err != nil {
			t.Fatal(err)
		}
		e, docs := new(analyzer).analyze(p, src)
		if len(docs) != len(e.starts) {
			t.Fatalf("%d documents for %d chunks", len(docs), len(e.starts))
		}
		enc := encodeEntry(nil, e)
		if _, err := decodeEntry(enc); err != nil {
			t.Fatal(err)
		}
		new(windower).windows(e, splitLines(src), nil, lineTerms{"func": 1, "class": 2}, 4)
	})
}

func FuzzDecodeEntry(f *testing.F) {
	e, _ := new(analyzer).analyze("a/b.go", []byte("package b\n\nfunc F() {}\n"))
	f.Add(encodeEntry(nil, e))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEntry(b)
		if err == nil {
			if _, err := decodeEntry(encodeEntry(nil, e)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
