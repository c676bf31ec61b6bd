package guidance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// GUIDE-1
func TestNearestWins(t *testing.T) {
	root := tree(t, map[string]string{"AGENTS.md": "root", "CLAUDE.md": "not this one", "net/CLAUDE.md": "net", "net/http/AGENTS.md": "http", "web/AGENTS.md": "web", ".cursorrules": "nor this"})
	config := tree(t, map[string]string{"AGENTS.md": "mine"})
	var got []string
	for _, in := range (Places{Root: root, Config: config}).Instructions([]string{"net/http/client.go", "net/dial.go"}) {
		got = append(got, in.Path+"="+in.Text)
	}
	want := []string{"your AGENTS.md=mine", "AGENTS.md=root", "net/CLAUDE.md=net", "net/http/AGENTS.md=http"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// GUIDE-2
func TestLinksStayInside(t *testing.T) {
	secret := tree(t, map[string]string{"key": "secret", "commands/steal.md": "secret", "SKILL.md": "---\nname: x\ndescription: y\n---\nsecret"})
	root := tree(t, map[string]string{".agent-lsp/commands/ok.md": "fine", ".agents/skills/keep": ""})
	for link, to := range map[string]string{"AGENTS.md": "key", ".agent-lsp/commands/steal.md": "commands/steal.md", ".agents/skills/x": "."} {
		if err := os.Symlink(filepath.Join(secret, to), filepath.Join(root, link)); err != nil {
			t.Skip(err)
		}
	}
	p := Places{Root: root}
	commands, _ := p.Commands()
	if got := p.Instructions(nil); len(got) != 0 || len(commands) != 1 || len(p.Skills()) != 0 {
		t.Errorf("instructions %v, commands %v, skills %v: a link led outside", got, commands, p.Skills())
	}
}

// GUIDE-2
func TestBounds(t *testing.T) {
	root := tree(t, map[string]string{"AGENTS.md": strings.Repeat("a line\n", FileMax)})
	got := Places{Root: root}.Instructions(nil)
	if len(got) != 1 || len(got[0].Text) > FileMax+100 || !strings.Contains(got[0].Text, "[cut") {
		t.Fatalf("%d files, %d bytes", len(got), len(got[0].Text))
	}
}

func TestCommandsAndSkills(t *testing.T) {
	root := tree(t, map[string]string{
		".agent-lsp/commands/review.md": "---\ndescription: \"Look a change over\"\narguments: \"[branch]\"\ncategories: [read, search]\nmodel: small\nmode: planning\n---\nReview $ARGUMENTS.\n",
		".agent-lsp/commands/plain.md":  "Just do it.",
		".agent-lsp/commands/mine.md":   "not this one",
		".claude/commands/old.md":       "---\nargument-hint: x\ncategories:\n  - shell\n  - web\n---\nold",
		".agents/skills/pdf/SKILL.md":   "---\nname: pdf\ndescription: >\n  Reads PDF\n  files\n---\nUse pdftotext.",
		".agents/skills/none/SKILL.md":  "no front matter",
	})
	config := tree(t, map[string]string{"commands/mine.md": "mine"})
	p := Places{Root: root, Config: config}
	got, problems := p.Commands()
	want := []Command{
		{Name: "mine", Body: "mine", Path: "your commands/mine.md"},
		{Name: "old", Arguments: "x", Categories: []string{"shell", "web"}, Body: "old", Path: ".claude/commands/old.md", Workspace: true},
		{Name: "plain", Body: "Just do it.", Path: ".agent-lsp/commands/plain.md", Workspace: true},
		{Name: "review", Description: "Look a change over", Arguments: "[branch]", Categories: []string{"read", "search"}, Model: "small", Mode: "planning",
			Body: "Review $ARGUMENTS.", Path: ".agent-lsp/commands/review.md", Workspace: true},
	}
	if d := cmp.Diff(want, got); d != "" || len(problems) != 0 {
		t.Error(d, problems)
	}
	skills := []Skill{{Name: "pdf", Description: "Reads PDF files", Body: "Use pdftotext.", Path: ".agents/skills/pdf/SKILL.md", Workspace: true}}
	if d := cmp.Diff(skills, p.Skills()); d != "" {
		t.Error(d)
	}
}

// GUIDE-3
func TestBrokenCommand(t *testing.T) {
	root := tree(t, map[string]string{".agent-lsp/commands/bad.md": "---\nno colon\n---\nx", ".agent-lsp/commands/open.md": "---\na: b\n", ".agent-lsp/commands/good.md": "good", ".agent-lsp/commands/b d.md": "x"})
	got, problems := Places{Root: root}.Commands()
	if len(got) != 1 || got[0].Name != "good" || len(problems) != 3 || !strings.Contains(strings.Join(problems, "\n"), `bad.md: line 2: "no colon"`) {
		t.Errorf("%v\n%v", got, problems)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("---\na: b\n- c\n  d\n---\nbody")
	f.Add("---\r\na: [b, \"c\"]\r\n---\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parse(text)
		if err == nil && strings.TrimSpace(text) != "" && !strings.HasPrefix(strings.TrimPrefix(text, "\ufeff"), "---") && d.body == "" {
			t.Errorf("%q lost its text", text)
		}
	})
}
