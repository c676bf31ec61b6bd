package builtin

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// A shop is a workspace in memory with simple tools over it, in the formats of
// the real ones. It stands at the rim: the engine only sees their texts.
type shop struct {
	files    map[string]string
	chunks   []chunk
	df       map[string]int
	avg      float64
	commands map[string]string // bash command → output
	refuse   map[string]string // tool → refusal
	calls    []string
}

type chunk struct {
	path       string
	start, end int
	symbol     string
	tf         map[string]int
	length     int
}

func newShop(files map[string]string) *shop {
	return &shop{files: files, commands: map[string]string{}, refuse: map[string]string{}}
}

// loadShop copies a folder's text files.
func loadShop(t testing.TB, dir string) *shop {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil || len(b) > 1<<20 || strings.ContainsRune(string(b[:min(len(b), 4096)]), 0) {
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Skipf("no corpus at %s: %v", dir, err)
	}
	return newShop(files)
}

func (s *shop) paths() []string { return sortedKeys(s.files) }

func (s *shop) lines(p string) []string {
	return strings.Split(strings.TrimSuffix(s.files[p], "\n"), "\n")
}

// tools are the schemas that the engine is offered.
func (s *shop) tools(names ...string) []model.Tool {
	schemas := map[string]string{
		"ls": "path", "read": "path offset limit", "grep": "pattern path glob ignoreCase context limit", "find": "pattern path limit",
		"write": "path content", "edit": "path edits diff", "bash": "command timeout description", "search": "query limit",
		"symbols": "query limit", "references": "name limit",
	}
	if len(names) == 0 {
		names = sortedKeys(schemas)
	}
	if len(names) == 1 && names[0] == "none" {
		return nil
	}
	var out []model.Tool
	for _, n := range names {
		props := map[string]any{}
		for _, p := range strings.Fields(schemas[n]) {
			props[p] = map[string]string{}
		}
		b, _ := json.Marshal(map[string]any{"type": "object", "properties": props})
		out = append(out, model.Tool{Name: n, Schema: b})
	}
	return out
}

type toolArgs struct {
	Path, Pattern, Content, Diff, Command, Query, Name string
	Offset, Limit                                      int
	IgnoreCase                                         bool
	Edits                                              []struct {
		OldText, NewText string
		All              bool
	}
}

func (s *shop) run(c model.Call) model.Message {
	s.calls = append(s.calls, c.Name+" "+string(c.Args))
	msg := model.Message{Role: model.RoleTool, CallID: c.ID}
	var a toolArgs
	if err := json.Unmarshal(c.Args, &a); err != nil {
		msg.Text, msg.IsError = err.Error(), true
		return msg
	}
	if why, ok := s.refuse[c.Name]; ok {
		msg.Text, msg.IsError = why, true
		return msg
	}
	var err error
	switch c.Name {
	case "ls":
		msg.Text, err = s.ls(a.Path)
	case "read":
		msg.Text, err = s.read(a)
	case "grep":
		msg.Text, err = s.grep(a)
	case "find":
		msg.Text, err = s.find(a)
	case "write":
		s.files[a.Path] = a.Content
		msg.Text = "wrote " + a.Path
	case "edit":
		err = s.edit(a)
		msg.Text = "edited " + a.Path
	case "bash":
		msg.Text = s.commands[a.Command]
		msg.IsError = strings.Contains(msg.Text, "[exit ") && !strings.Contains(msg.Text, "[exit 0")
	case "search":
		msg.Text = s.search(a.Query, a.Limit)
	case "symbols", "references":
		msg.Text = s.locations(c.Name, a.Query+a.Name)
	default:
		err = fmt.Errorf("no tool %s", c.Name)
	}
	if err != nil {
		msg.Text, msg.IsError = c.Name+": "+err.Error(), true
	}
	return msg
}

func (s *shop) ls(dir string) (string, error) {
	dir = clean(dir)
	seen := map[string]bool{}
	for _, p := range s.paths() {
		rel := p
		if dir != "." {
			if !strings.HasPrefix(p, dir+"/") {
				continue
			}
			rel = p[len(dir)+1:]
		}
		head, _, sub := strings.Cut(rel, "/")
		if sub {
			head += "/"
		}
		seen[head] = true
	}
	if len(seen) == 0 {
		return "", fmt.Errorf("%s: not found", dir)
	}
	return strings.Join(sortedKeys(seen), "\n") + "\n", nil
}

func (s *shop) read(a toolArgs) (string, error) {
	if _, ok := s.files[a.Path]; !ok {
		return "", fmt.Errorf("%s: not found", a.Path)
	}
	if s.files[a.Path] == "" {
		return "(empty file)\n", nil
	}
	lines := s.lines(a.Path)
	from, limit := max(1, a.Offset), a.Limit
	if limit == 0 {
		limit = 2000
	}
	if from > len(lines) {
		return "", fmt.Errorf("%s has %d lines, offset %d is past its end", a.Path, len(lines), from)
	}
	var b strings.Builder
	n := from
	for ; n <= len(lines) && n < from+limit; n++ {
		fmt.Fprintf(&b, "%6d\t%s\n", n, lines[n-1])
	}
	if n <= len(lines) {
		fmt.Fprintf(&b, "[lines %d-%d of %d; go on with offset %d]\n", from, n-1, len(lines), n)
	}
	return b.String(), nil
}

func (s *shop) grep(a toolArgs) (string, error) {
	flags := ""
	if a.IgnoreCase {
		flags = "(?i)"
	}
	re, err := regexp.Compile(flags + a.Pattern)
	if err != nil {
		return "", err
	}
	whole := regexp.MustCompile("(?m)" + flags + a.Pattern)
	limit := a.Limit
	if limit == 0 {
		limit = 100
	}
	var b strings.Builder
	found := 0
	for _, p := range s.paths() {
		if a.Path != "" && a.Path != "." && p != a.Path && !strings.HasPrefix(p, a.Path+"/") {
			continue
		}
		if !whole.MatchString(s.files[p]) {
			continue
		}
		for i, l := range s.lines(p) {
			if !re.MatchString(l) {
				continue
			}
			if found++; found > limit {
				fmt.Fprintf(&b, "[the first %d matches; narrow it by path or glob, or raise limit]\n", limit)
				return b.String(), nil
			}
			fmt.Fprintf(&b, "%s:%d:%s\n", p, i+1, clip(l, 400))
		}
	}
	if found == 0 {
		fmt.Fprintf(&b, "no match for %q in %d files\n", a.Pattern, len(s.files))
	}
	return b.String(), nil
}

func (s *shop) find(a toolArgs) (string, error) {
	var out []string
	for _, p := range s.paths() {
		name := strings.TrimPrefix(a.Pattern, "**/")
		if ok, _ := path.Match(name, path.Base(p)); ok || a.Pattern == "**" {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return "nothing fits \"" + a.Pattern + "\"\n", nil
	}
	return strings.Join(out, "\n") + "\n", nil
}

func (s *shop) edit(a toolArgs) error {
	text, ok := s.files[a.Path]
	if !ok {
		return fmt.Errorf("%s: not found", a.Path)
	}
	if a.Diff != "" {
		out, remove, err := applyDiff(text, a.Diff)
		if err == nil && remove {
			delete(s.files, a.Path)
			return nil
		}
		if err == nil {
			s.files[a.Path] = out
		}
		return err
	}
	for _, e := range a.Edits {
		n := strings.Count(text, e.OldText)
		if n == 0 || (n > 1 && !e.All) {
			return fmt.Errorf("%s: oldText stands at %d places", a.Path, n)
		}
		text = strings.ReplaceAll(text, e.OldText, e.NewText)
	}
	s.files[a.Path] = text
	return nil
}

var testHunk = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+`)

// applyDiff is strict: every line of context must stand at its number.
func applyDiff(text, diff string) (string, bool, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var out []string
	at := 0
	remove := strings.Contains(diff, "+++ /dev/null")
	for _, l := range strings.Split(strings.TrimSuffix(diff, "\n"), "\n") {
		if m := testHunk.FindStringSubmatch(l); m != nil {
			n, _ := strconv.Atoi(m[1])
			for at < n-1 && at < len(lines) {
				out = append(out, lines[at])
				at++
			}
			continue
		}
		if strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "+++ ") {
			continue
		}
		if l == "" {
			l = " "
		}
		switch l[0] {
		case ' ', '-':
			if at >= len(lines) || lines[at] != l[1:] {
				return "", false, fmt.Errorf("context %q does not stand at line %d", l[1:], at+1)
			}
			if l[0] == ' ' {
				out = append(out, lines[at])
			}
			at++
		case '+':
			out = append(out, l[1:])
		}
	}
	out = append(out, lines[min(at, len(lines)):]...)
	return strings.Join(out, "\n") + "\n", remove, nil
}

func (s *shop) locations(tool, name string) string {
	var b strings.Builder
	n := 0
	for _, p := range s.paths() {
		for i, l := range s.lines(p) {
			def, _, ok := definition(p, l)
			isDef := ok && def == name
			at := words(l, name)
			if tool == "symbols" && !isDef || len(at) == 0 || n >= 60 {
				continue
			}
			n++
			kind := "reference"
			if isDef {
				kind = "definition"
			}
			fmt.Fprintf(&b, "%s:%d:%d %s: %s\n", p, i+1, at[0]+1, kind, strings.TrimSpace(l))
		}
	}
	if n == 0 {
		return "no symbol like " + name + "; try grep\n"
	}
	return b.String()
}

func (s *shop) index() {
	s.df = map[string]int{}
	for _, p := range s.paths() {
		lines := s.lines(p)
		start, symbol := 0, ""
		flush := func(end int) {
			if end <= start {
				return
			}
			c := chunk{path: p, start: start + 1, end: end, symbol: symbol, tf: map[string]int{}}
			for _, w := range parts(p + " " + symbol + " " + strings.Join(lines[start:end], "\n")) {
				if st := stem(w); !stop[w] {
					c.tf[st]++
					c.length++
				}
			}
			for w := range c.tf {
				s.df[w]++
			}
			s.avg += float64(c.length)
			s.chunks = append(s.chunks, c)
			start, symbol = end, ""
		}
		for i, l := range lines {
			if name, recv, ok := definition(p, l); ok && indent(l) == 0 {
				top := i
				for top > start && isComment(p, lines[top-1]) {
					top--
				}
				flush(top)
				symbol = display(name, recv)
			}
			if i-start >= 40 {
				keep := symbol
				flush(i)
				symbol = keep
			}
		}
		flush(len(lines))
	}
	s.avg /= math.Max(1, float64(len(s.chunks)))
}

func (s *shop) search(query string, k int) string {
	if s.df == nil {
		s.index()
	}
	type hit struct {
		c     chunk
		score float64
	}
	var hits []hit
	terms := map[string]bool{}
	for _, w := range parts(query) {
		if !stop[w] {
			terms[stem(w)] = true
		}
	}
	for _, c := range s.chunks {
		score := 0.0
		for _, t := range sortedKeys(terms) {
			if tf := float64(c.tf[t]); tf > 0 {
				idf := math.Log(1 + (float64(len(s.chunks))-float64(s.df[t])+0.5)/(float64(s.df[t])+0.5))
				score += idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*float64(c.length)/s.avg))
			}
		}
		if isTest(c.path) {
			score *= 0.6
		}
		if score > 0 {
			hits = append(hits, hit{c, score})
		}
	}
	sort.SliceStable(hits, func(i, j int) bool { return hits[i].score > hits[j].score })
	if k == 0 {
		k = 10
	}
	var b strings.Builder
	for i, h := range hits {
		if i == k {
			break
		}
		fmt.Fprintf(&b, "%s:%d-%d  %s  (bm25 #%d)\n", h.c.path, h.c.start, h.c.end, h.c.symbol, i+1)
		lines := s.lines(h.c.path)[h.c.start-1 : h.c.end]
		for j, l := range lines[:min(12, len(lines))] {
			fmt.Fprintf(&b, "%6d\t%s\n", h.c.start+j, l)
		}
		if len(lines) > 12 {
			fmt.Fprintf(&b, "      \t… %d more lines\n", len(lines)-12)
		}
	}
	return b.String()
}

// converse plays a request to its end and returns all messages.
func (s *shop) converse(t testing.TB, messages []model.Message, tools []model.Tool) []model.Message {
	t.Helper()
	for round := 0; round <= roundsMax+1; round++ {
		r, err := model.Collect(Name, New().Stream(t.Context(), model.Request{Messages: messages, Tools: tools}))
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, model.Message{Role: model.RoleAssistant, Text: r.Text, Calls: r.Done.Calls})
		if len(r.Done.Calls) == 0 {
			return messages
		}
		for _, c := range r.Done.Calls {
			messages = append(messages, s.run(c))
		}
	}
	t.Fatalf("no end after %d rounds", roundsMax+1)
	return nil
}

func user(text string) model.Message { return model.Message{Role: model.RoleUser, Text: text} }

func (s *shop) ask(t testing.TB, request string) string {
	t.Helper()
	m := s.converse(t, []model.Message{{Role: model.RoleSystem, Text: "You are agent-lsp."}, user(request)}, s.tools())
	return m[len(m)-1].Text
}
