package arch

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`)

// TestInvariantsHaveTheirTests looks for every test that a package comment or
// a document names: an invariant that nothing holds is a wish.
func TestInvariantsHaveTheirTests(t *testing.T) {
	have := map[string]bool{}
	root := os.DirFS("../..")
	walk(t, root, func(p, text string) {
		if strings.HasSuffix(p, "_test.go") {
			for _, line := range strings.Split(text, "\n") {
				if strings.HasPrefix(line, "func ") {
					have[testName.FindString(line)] = true
				}
			}
		}
	})
	wanted := func(where, text string) {
		for _, name := range testName.FindAllString(text, -1) {
			if !have[name] {
				t.Errorf("%s names %s, which does not exist", where, name)
			}
		}
	}
	for dir, files := range sources(t) {
		for _, f := range files {
			wanted(dir, f.Doc.Text())
		}
	}
	walk(t, root, func(p, text string) {
		if strings.HasSuffix(p, ".md") && strings.HasPrefix(p, "docs/") {
			wanted(p, text)
		}
	})
}

func walk(t *testing.T, root fs.FS, visit func(path, text string)) {
	t.Helper()
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, ".md") {
			return nil
		}
		body, err := fs.ReadFile(root, p)
		visit(p, string(body))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
