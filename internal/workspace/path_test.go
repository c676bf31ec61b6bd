package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ground makes a workspace beside a folder that must not be reached.
func ground(t *testing.T) (w *Workspace, in, out string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in, out = filepath.Join(base, "in"), filepath.Join(base, "out")
	for path, s := range map[string]string{
		"in/a.txt": "inside\n", "in/sub/b.txt": "b\n", "in/.git/config": "[core]\n", "in/.env": "KEY=canary\n", "in/.vscode/tasks.json": "{}\n",
		"out/canary.txt": "canary\n", "in2/near.txt": "canary\n",
	} {
		put(t, filepath.Join(base, path), s)
	}
	w, err = Open([]string{in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w, in, out
}

func put(t *testing.T, path, s string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
		t.Fatal(err)
	}
}

// look resolves, asks and reads, as everybody has to.
func (w *Workspace) look(path string) (string, error) {
	p, err := w.Resolve(path)
	if err == nil {
		err = w.May(p, AccessRead)
	}
	if err != nil {
		return "", err
	}
	f, err := w.ReadDisk(p)
	return string(f.Data), err
}

func reasonOf(err error) string {
	var pe *PathError
	if errors.As(err, &pe) {
		return pe.Reason
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestConfinement(t *testing.T) {
	w, in, out := ground(t)
	for name, to := range map[string]string{
		"link-out": "../out/canary.txt", "link-abs": filepath.Join(out, "canary.txt"), "dir-out": out, "chain": "link-out",
		"loop": "loop", "link-in": "a.txt", "link-abs-in": filepath.Join(in, "a.txt"), "dangling": "nowhere", "dangling-out": "../out/nowhere", "dangling-chain": "dangling-out", "dangling-below": "sub/up/nowhere/x", "sub/up": "..", "proc": "/proc/self/root",
		"link-env": ".env", "link-git": ".git",
	} {
		if err := os.Symlink(to, filepath.Join(in, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ path, want string }{
		{"a.txt", ""}, {"./sub/../a.txt", ""}, {in + "/a.txt", ""}, {"file://" + in + "/a.txt", ""}, {"link-in", ""}, {"link-abs-in", ""}, {"sub/up/a.txt", ""},
		{"../in/a.txt", ""},
		{"../out/canary.txt", ReasonOutside}, {"../in2/near.txt", ReasonOutside}, {in + "2/near.txt", ReasonOutside}, {out + "/canary.txt", ReasonOutside},
		{"sub/../../out/canary.txt", ReasonOutside}, {"link-out", ReasonOutside}, {"link-abs", ReasonOutside}, {"chain", ReasonOutside},
		{"dir-out/canary.txt", ReasonOutside}, {"sub/up/../../out/canary.txt", ReasonNotFound}, {"file:///etc/passwd", ReasonOutside},
		{"/etc/passwd", ReasonOutside}, {"/proc/self/environ", ReasonOutside}, {"proc/etc/passwd", ReasonOutside}, {"..", ReasonOutside},
		{"loop", ReasonBadPath}, {"a\x00.txt", ReasonBadPath}, {strings.Repeat("x/", 3000), ReasonBadPath}, {"file://host/etc/passwd", ReasonBadPath},
		{"file:%zz", ReasonBadPath},
		{"dangling", ReasonNotFound}, {"dangling-below", ReasonNotFound}, {"dangling-out", ReasonOutside}, {"dangling-chain", ReasonOutside}, {"dangling-out/x", ReasonOutside}, {"nowhere/at/all", ReasonNotFound}, {"a.txt/b", ReasonNotFound},
		{".env", ReasonSecret}, {"link-env", ReasonSecret}, {"sub/../.env", ReasonSecret},
		{".git/config", ReasonGit}, {".GIT/config", ReasonGit}, {"link-git/config", ReasonGit}, {".git\u200c/config", ReasonGit}, {".git./config", ReasonGit},
		{"sub/.git/x", ReasonGit}, {"git~1/config", ReasonGit}, {".git::$INDEX_ALLOCATION/config", ReasonGit},
		{".", ReasonFolder}, {"sub", ReasonFolder},
	} {
		s, err := w.look(c.path)
		if got := reasonOf(err); got != c.want {
			t.Errorf("%q: %q (%v), want %q", c.path, got, err, c.want)
		}
		if strings.Contains(s, "canary") {
			t.Errorf("%q was read: %q", c.path, s)
		}
	}
	for _, c := range []string{".git/hooks/pre-commit", ".vscode/settings.json", ".VSCode/tasks.json", ".idea/x.xml", "x.code-workspace", ".nvim.lua",
		".agent-lsp.toml", "sub/.vscode/launch.json", ".zed/settings.json", "../out/new.txt", ".env", ".ssh/id_rsa"} {
		p, err := w.Resolve(c)
		if err == nil {
			err = w.May(p, AccessWrite)
		}
		var pe *PathError
		if !errors.As(err, &pe) || !pe.Permission {
			t.Errorf("writing %q: %v, want a refusal that can be permitted", c, err)
		}
	}
	// Reading an editor's settings harms nobody.
	if _, err := w.look(".vscode/tasks.json"); err != nil {
		t.Error(err)
	}
}

func TestPermit(t *testing.T) {
	w, _, out := ground(t)
	if err := w.Permit(out, AccessRead); err != nil {
		t.Fatal(err)
	}
	if s, err := w.look(out + "/canary.txt"); err != nil || s != "canary\n" {
		t.Errorf("%q, %v", s, err)
	}
	p, err := w.Resolve(out + "/canary.txt")
	if err != nil {
		t.Fatal(err)
	}
	if w.May(p, AccessWrite) == nil {
		t.Error("a permission to read lets write")
	}
	if _, err := w.look(out + "2"); reasonOf(err) != ReasonOutside {
		t.Errorf("a permission reaches what only begins with its name: %v", err)
	}
	if err := w.Permit(out+"/canary.txt", AccessWrite); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteDisk(p, []byte("new\n"), hashOf(t, w, p), 0); err != nil {
		t.Error(err)
	}
}

// TestLinkSwappedIn: what was resolved is what is opened, although a folder on
// the way was replaced by a link in between.
func TestLinkSwappedIn(t *testing.T) {
	w, in, out := ground(t)
	put(t, filepath.Join(out, "b.txt"), "canary\n")
	p, err := w.Resolve("sub/b.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(in, "sub"), filepath.Join(in, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(in, "sub")); err != nil {
		t.Fatal(err)
	}
	if f, err := w.ReadDisk(p); err == nil {
		t.Errorf("read %q through a link that was swapped in", f.Data)
	}
	if err := w.WriteDisk(p, []byte("x"), NoFile, 0); err == nil {
		t.Error("wrote through a link that was swapped in")
	}
	if b, _ := os.ReadFile(filepath.Join(out, "b.txt")); string(b) != "canary\n" {
		t.Errorf("outside is %q", b)
	}
}

func TestRoots(t *testing.T) {
	w, in, out := ground(t)
	if err := w.SetRoots([]string{in, out, in}); err != nil {
		t.Fatal(err)
	}
	if r := w.Roots(); len(r) != 2 || r[0] != in || r[1] != out {
		t.Errorf("roots: %v", r)
	}
	p, err := w.Resolve(out + "/canary.txt")
	if err != nil || !p.Inside() || p.Path != filepath.ToSlash(out)+"/canary.txt" {
		t.Errorf("%+v, %v", p, err)
	}
	if err := w.SetRoots([]string{in, filepath.Join(in, "missing")}); err == nil {
		t.Error("a missing folder was opened")
	}
	if r := w.Roots(); len(r) != 2 {
		t.Errorf("roots after a failed change: %v", r)
	}
}

func TestURIs(t *testing.T) {
	for _, path := range []string{"/a/b.go", "/with space/ü#?.go", "/50%/x"} {
		back, err := URIPath(PathURI(path))
		if err != nil || back != path {
			t.Errorf("%q: %q, %q, %v", path, PathURI(path), back, err)
		}
	}
	for _, bad := range []string{"http://x/y", "untitled:1", "file:", "%"} {
		if p, err := URIPath(bad); err == nil {
			t.Errorf("%q is the path %q", bad, p)
		}
	}
}
