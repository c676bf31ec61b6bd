package rag

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// The rank of the file that a person would want is under version control: a change of
// the fusion shows here as a diff, question by question.
func TestRankGolden(t *testing.T) {
	const golden = "testdata/rank/queries.txt"
	a, err := txtar.ParseFile("testdata/rank/corpus.txtar")
	if err != nil {
		t.Fatal(err)
	}
	src := newMemory(nil)
	for _, f := range a.Files {
		src.put(f.Name, string(f.Data))
	}
	x := indexed(t, src)
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	rr, n := 0.0, 0
	for ln := range strings.Lines(string(want)) {
		ln = strings.TrimSuffix(ln, "\n")
		if strings.HasPrefix(ln, "#") || ln == "" {
			if !strings.HasPrefix(ln, "# mean") {
				fmt.Fprintln(&got, ln)
			}
			continue
		}
		head, query, ok := strings.Cut(ln, " | ")
		_, file, ok2 := strings.Cut(head, " ")
		if !ok || !ok2 || src.files[file] == "" {
			t.Fatalf("not a line of RANK FILE | QUERY: %q", ln)
		}
		rank := slices.Index(itemPaths(search(t, x, query)), file) + 1
		n++
		if rank > 0 {
			rr += 1 / float64(rank)
		}
		fmt.Fprintf(&got, "%d %s | %s\n", rank, file, query)
	}
	fmt.Fprintf(&got, "# mean reciprocal rank %.3f of %d\n", rr/float64(n), n)
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("ranks have changed (-golden +now):\n%s", d)
	}
	if rr/float64(n) < .8 {
		t.Errorf("mean reciprocal rank %.3f", rr/float64(n))
	}
}

// Records of changes and copies of others' code have every word, and stand behind the
// code itself; a request that is about them finds them first.
func TestAsideStandsBehind(t *testing.T) {
	src := newMemory(map[string]string{
		"CHANGELOG.md":             "# Changelog\n\n- retry the upload of a part when the server resets the connection\n- retry upload part\n",
		"deps/upload.go":           "package store\n\n// retry the upload of a part when the server resets the connection\nfunc retryUploadPart() {}\n\n// the upload resets the connection to the server\nfunc resetUpload() { retryUploadPart() }\n",
		"store/upload.go":          "package store\n\n// retry the upload of a part when the server resets the connection\nfunc retryUploadPart() {}\n",
		"store/__snapshots__/a.ts": "retry upload part server resets connection\n",
	})
	x := openIndex(t, "", src)
	defer x.Close()
	if err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"retry the upload of a part when the server resets the connection":              "store/upload.go",
		"changelog: say that the upload of a part is retried when the server resets it": "CHANGELOG.md",
	} {
		set, err := x.Search(context.Background(), Query{Text: query})
		if err != nil {
			t.Fatal(err)
		}
		if set.Items[0].Path != want {
			t.Errorf("%s: %s is first, want %s", query, set.Items[0].Path, want)
		}
	}
}
