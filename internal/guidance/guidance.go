package guidance

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of what is looked at.
const (
	commandsMax = 200
	skillsMax   = 100
	depthMax    = 32 // folders between a file and the root
)

// Instruction is one file of instructions.
type Instruction struct {
	Path      string // as it is shown: workspace-relative, or ~/…
	Text      string
	Workspace bool
}

// Command is a named prompt: /name args.
type Command struct {
	Name, Description, Arguments string
	Categories                   []string
	Model, Mode                  string
	Body                         string
	Path                         string
	Workspace                    bool
}

// Skill is a folder of know-how. Its body is read when it is asked for.
type Skill struct {
	Name, Description string
	Body              string
	Path              string
	Workspace         bool
}

// Places are where to look. Home and Config may be "".
type Places struct {
	Root   string // the workspace
	Home   string // the user's home
	Config string // the user's own folder of settings
}

// instructionNames: the first of a folder counts.
var instructionNames = []string{"AGENTS.md", "AGENT.md", "CLAUDE.md"}

// rootNames are further names, at the workspace's root only.
var rootNames = []string{".github/copilot-instructions.md", ".cursorrules", ".clinerules", ".windsurfrules", ".rules", ".goosehints"}

// Instructions are the files that count for some workspace-relative paths: the
// user's own, the root's, then those of the folders down to each path. The
// nearer one comes later and has the last word.
func (p Places) Instructions(paths []string) []Instruction {
	var out []Instruction
	user := []struct{ dir, name, shown string }{
		{p.Config, "AGENTS.md", "your AGENTS.md"}, {join(p.Home, ".config"), "AGENTS.md", "~/.config/AGENTS.md"}, {join(p.Home, ".claude"), "CLAUDE.md", "~/.claude/CLAUDE.md"}}
	for _, u := range user {
		if text, ok := read(u.dir, u.name); ok {
			out = append(out, Instruction{Path: u.shown, Text: text})
			break
		}
	}
	for _, dir := range foldersOf(paths) {
		names := instructionNames
		if dir == "" {
			names = append(slices.Clip(names), rootNames...)
		}
		for _, name := range names {
			if text, ok := read(p.Root, path.Join(dir, name)); ok {
				out = append(out, Instruction{Path: path.Join(dir, name), Text: text, Workspace: true})
				break
			}
		}
		if text, ok := read(p.Root, path.Join(dir, "CLAUDE.local.md")); ok {
			out = append(out, Instruction{Path: path.Join(dir, "CLAUDE.local.md"), Text: text, Workspace: true})
		}
	}
	return out
}

// foldersOf is every folder between the root ("") and the paths, each once,
// parents first.
func foldersOf(paths []string) []string {
	out := []string{""}
	for _, p := range paths {
		var chain []string
		for d := path.Dir(path.Clean(p)); d != "." && d != "/" && !strings.HasPrefix(d, "..") && len(chain) < depthMax; d = path.Dir(d) {
			chain = append(chain, d)
		}
		slices.Reverse(chain)
		for _, d := range chain {
			if !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

// Commands reads the commands by name, the user's before the workspace's;
// of two with one name the user's counts. Problems name what was left out.
func (p Places) Commands() (list []Command, problems []string) {
	add := func(root, dir, shown string, workspace bool) {
		for _, name := range files(root, dir, ".md", commandsMax) {
			text, ok := read(root, path.Join(dir, name))
			if !ok {
				continue
			}
			c := Command{Name: strings.TrimSuffix(name, ".md"), Path: shown + name, Workspace: workspace}
			d, err := parse(text)
			switch {
			case err != nil:
				problems = append(problems, fmt.Sprintf("%s: %v", c.Path, err))
			case !validName(c.Name):
				problems = append(problems, fmt.Sprintf("%s: a command's name has letters, digits, - and _ only", c.Path))
			case d.body == "":
				problems = append(problems, c.Path+": it says nothing")
			case slices.ContainsFunc(list, func(x Command) bool { return x.Name == c.Name }):
			default:
				c.Description, c.Arguments, c.Model, c.Mode = clip(d.fields["description"]), clip(first(d, "arguments", "argument-hint")), d.fields["model"], d.fields["mode"]
				c.Categories, c.Body = d.lists["categories"], d.body
				list = append(list, c)
			}
		}
	}
	add(p.Config, "commands", "your commands/", false)
	add(p.Root, ".agent-lsp/commands", ".agent-lsp/commands/", true)
	add(p.Root, ".claude/commands", ".claude/commands/", true)
	slices.SortFunc(list, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return list, problems
}

func first(d document, keys ...string) string {
	for _, k := range keys {
		if d.fields[k] != "" {
			return d.fields[k]
		}
	}
	return ""
}

// Skills reads the skills by name; of two with one name the user's counts.
func (p Places) Skills() []Skill {
	var out []Skill
	add := func(root, dir, shown string, workspace bool) {
		for _, name := range folders(root, dir, skillsMax) {
			file := path.Join(dir, name, "SKILL.md")
			text, ok := read(root, file)
			if !ok {
				continue
			}
			d, err := parse(text)
			s := Skill{Name: d.fields["name"], Description: clip(d.fields["description"]), Body: d.body, Path: shown + path.Join(name, "SKILL.md"), Workspace: workspace}
			if s.Name == "" {
				s.Name = name
			}
			if err != nil || !validName(s.Name) || s.Description == "" || len(out) >= skillsMax || slices.ContainsFunc(out, func(x Skill) bool { return x.Name == s.Name }) {
				continue
			}
			out = append(out, s)
		}
	}
	add(p.Config, "skills", "your skills/", false)
	for _, dir := range []string{".agents/skills", ".config/agents/skills", ".claude/skills"} {
		add(p.Home, dir, "~/"+dir+"/", false)
	}
	for _, dir := range []string{".agent-lsp/skills", ".agents/skills", ".claude/skills"} {
		add(p.Root, dir, dir+"/", true)
	}
	slices.SortFunc(out, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func join(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// read gives a file's text, at most FileMax bytes of it. os.Root keeps links
// from leading out of the folder.
func read(root, name string) (string, bool) {
	if root == "" {
		return "", false
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return "", false
	}
	defer dir.Close()
	info, err := dir.Stat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	f, err := dir.Open(filepath.FromSlash(name))
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, FileMax+1))
	if err != nil || len(strings.TrimSpace(string(data))) == 0 {
		return "", false
	}
	text := string(data)
	if len(data) > FileMax {
		text = text[:FileMax] + fmt.Sprintf("\n[cut: only the first %d bytes are read]", FileMax)
	}
	return strings.ToValidUTF8(text, "\ufffd"), true
}

func files(root, dir, suffix string, limit int) []string {
	return entries(root, dir, limit, func(e os.DirEntry) bool { return !e.IsDir() && strings.HasSuffix(e.Name(), suffix) })
}

func folders(root, dir string, limit int) []string {
	return entries(root, dir, limit, func(e os.DirEntry) bool { return e.IsDir() || e.Type()&os.ModeSymlink != 0 })
}

// entries lists a folder's names in order.
func entries(root, dir string, limit int, keep func(os.DirEntry) bool) []string {
	if root == "" {
		return nil
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer r.Close()
	f, err := r.Open(filepath.FromSlash(dir))
	if err != nil {
		return nil
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range list {
		if keep(e) {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out[:min(len(out), limit)]
}
