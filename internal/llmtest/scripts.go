package llmtest

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed scripts/*.txtar
var scriptFiles embed.FS

// Limits of one script.
const (
	MaxSteps  = 500
	maxRepeat = 10_000 // lines of one @repeat
)

// Scripts maps a script's name to what it says.
type Scripts map[string]Script

// Script is what the model says, step by step.
type Script struct {
	Steps []string // exact text of each reply; a last "\f" = go on babbling
	Loop  bool     // start again after the last step; else further steps say that the script is over
	// WhenSystem makes the script answer every request whose system message
	// holds this text. No quotes, backslashes or line ends.
	WhenSystem string
}

// Texts is a script of these replies.
func Texts(steps ...string) Script { return Script{Steps: steps} }

// Call is the text of a tool call, as the model writes it. args is JSON text
// or anything that marshals to it.
func Call(name string, args any) string {
	raw, ok := args.(string)
	if !ok {
		b, err := json.Marshal(args)
		if err != nil {
			panic(fmt.Sprintf("llmtest.Call(%s): %v", name, err))
		}
		raw = string(b)
	}
	spaced, err := spaceJSON(raw)
	if err != nil {
		panic(fmt.Sprintf("llmtest.Call(%s): %v in %s", name, err, raw))
	}
	return "<tool_call>\n{\"name\": " + strconv.Quote(name) + ", \"arguments\": " + spaced + "}\n</tool_call>"
}

// Think is the text of reasoning, as the model writes it before its answer.
func Think(text string) string { return "<think>\n" + text + "\n</think>\n\n" }

// With is s and other together; other wins.
func (s Scripts) With(other Scripts) Scripts {
	all := maps.Clone(s)
	maps.Copy(all, other)
	return all
}

// DefaultScripts are the scripts of the folder scripts.
func DefaultScripts() Scripts {
	s, err := LoadScripts(scriptFiles, "scripts")
	if err != nil {
		panic(err) // embedded at build time; TestDefaultScripts parses them all
	}
	return s
}

// LoadScripts reads every .txtar file of a folder; the file's name is the script's.
func LoadScripts(fsys fs.FS, dir string) (Scripts, error) {
	names, err := fs.Glob(fsys, path.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	all := Scripts{}
	for _, file := range names {
		data, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, err
		}
		s, err := ParseScript(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[strings.TrimSuffix(path.Base(file), ".txtar")] = s
	}
	return all, nil
}

// ParseScript reads one script file.
func ParseScript(data []byte) (Script, error) {
	var s Script
	a := txtar.Parse(data)
	for line := range strings.Lines(string(a.Comment)) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "when-system:"); ok {
			s.WhenSystem = strings.TrimSpace(text)
		} else if line == "loop" {
			s.Loop = true
		}
	}
	for _, f := range a.Files {
		first, last, isRange := strings.Cut(f.Name, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err := errors.Join(err1, err2); err != nil {
			return s, fmt.Errorf("section %q: %w", f.Name, err)
		}
		if from != len(s.Steps) || to < from || to >= MaxSteps {
			return s, fmt.Errorf("section %q: step %d (of at most %d) must come next", f.Name, len(s.Steps), MaxSteps)
		}
		for n := from; n <= to; n++ {
			text := strings.NewReplacer("{n}", strconv.Itoa(n), "{n1}", strconv.Itoa(n+1)).Replace(string(f.Data))
			step, err := expand(text)
			if err != nil {
				return s, fmt.Errorf("section %q: %w", f.Name, err)
			}
			s.Steps = append(s.Steps, step)
		}
	}
	if len(s.Steps) == 0 {
		return s, errors.New("no section: a script has at least the step 0")
	}
	return s, nil
}

// expand turns the lines that begin with @ into what the model writes.
func expand(text string) (string, error) {
	var out strings.Builder
	for line := range strings.Lines(text) {
		verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch verb {
		case "@call":
			name, args, _ := strings.Cut(rest, " ")
			if !json.Valid([]byte(args)) {
				return "", fmt.Errorf("the arguments of %s are no JSON: %s", name, args)
			}
			out.WriteString(Call(name, args) + "\n")
		case "@think":
			out.WriteString(Think(rest))
		case "@repeat":
			count, line, _ := strings.Cut(rest, " ")
			n, err := strconv.Atoi(count)
			if err != nil || n < 1 || n > maxRepeat {
				return "", fmt.Errorf("@repeat wants a count of 1 to %d: %q", maxRepeat, count)
			}
			for i := 1; i <= n; i++ {
				out.WriteString(strings.ReplaceAll(line, "{i}", strconv.Itoa(i)) + "\n")
			}
		case "@babble":
			return strings.TrimSuffix(out.String(), "\n") + "\f", nil
		default:
			out.WriteString(line)
		}
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

var scriptName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// check says what the chat template could not carry.
func (s Scripts) check() error {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		switch script := s[name]; {
		case !scriptName.MatchString(name):
			return fmt.Errorf("script %q: a name is of lower-case letters, digits and -", name)
		case len(script.Steps) == 0 || len(script.Steps) > MaxSteps:
			return fmt.Errorf("script %s: %d steps, want 1 to %d", name, len(script.Steps), MaxSteps)
		case strings.ContainsAny(script.WhenSystem, "\"'\\\n"):
			return fmt.Errorf("script %s: when-system must not hold quotes or backslashes", name)
		case slices.ContainsFunc(script.Steps, func(t string) bool { return len(strings.TrimSuffix(t, "\f")) < 2 }):
			return fmt.Errorf("script %s: a step of less than two bytes", name)
		}
	}
	return nil
}

// spaceJSON writes JSON with a space after each colon and comma, as models do,
// keeping the order of keys.
func spaceJSON(raw string) (string, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(raw)); err != nil {
		return "", err
	}
	var out strings.Builder
	inString, escaped := false, false
	for _, c := range compact.Bytes() {
		out.WriteByte(c)
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case !inString && (c == ':' || c == ','):
			out.WriteByte(' ')
		}
	}
	return out.String(), nil
}
