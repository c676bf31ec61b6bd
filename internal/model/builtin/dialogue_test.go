package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

var section = regexp.MustCompile(`(?m)^-- (.+) --\n`)

// TestDialogues plays testdata/dialogues/*.txt. Each opens with prose on what
// it shows; then come sections:
//
//	-- file PATH --      a file of the workspace
//	-- tools --          the tools that are offered (absent: all)
//	-- refuse TOOL --    what that tool fails with
//	-- bash COMMAND --   what that command prints
//	-- MESSAGE ROLE --   a message that stands before the request
//	-- user --           the request
//	-- steer N --        what the person adds after round N
//	-- story --          golden: what was said, called and answered
//	-- after PATH --     golden: the files that changed
//
// -update rewrites the golden sections; only commit what you understand.
func TestDialogues(t *testing.T) {
	files, err := filepath.Glob("testdata/dialogues/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no dialogues", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(raw))
			if got == string(raw) {
				return
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s changed; got\n%s", file, got)
		})
	}
}

// play runs a dialogue and returns its text with the golden sections renewed.
func play(t *testing.T, raw string) string {
	s := newShop(map[string]string{})
	before := map[string]string{}
	steers := map[int]string{}
	var names []string
	var messages []model.Message
	heads := section.FindAllStringSubmatchIndex(raw, -1)
	keep := raw
	for i, h := range heads {
		name, end := raw[h[2]:h[3]], len(raw)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		body := raw[h[1]:end]
		word, rest, _ := strings.Cut(name, " ")
		switch word {
		case "file":
			s.files[rest], before[rest] = body, body
		case "tools":
			names = strings.Fields(body)
			if body == "none\n" {
				names = []string{"none"}
			}
		case "refuse":
			s.refuse[rest] = strings.TrimSpace(body)
		case "bash":
			s.commands[rest] = body
		case "message":
			messages = append(messages, model.Message{Role: model.Role(rest), Text: strings.TrimSuffix(body, "\n")})
		case "user":
			messages = append(messages, user(strings.TrimSuffix(body, "\n")))
		case "steer":
			n, err := strconv.Atoi(rest)
			if err != nil {
				t.Fatal(err)
			}
			steers[n] = strings.TrimSuffix(body, "\n")
		case "story", "after":
			if h[0] < len(keep) {
				keep = raw[:h[0]]
			}
		}
	}
	if len(messages) == 0 || messages[0].Role != model.RoleSystem {
		messages = append([]model.Message{{Role: model.RoleSystem, Text: "You are agent-lsp."}}, messages...)
	}
	var b strings.Builder
	b.WriteString(keep + "-- story --\n")
	for round := 1; ; round++ {
		if round > roundsMax+2 {
			t.Fatal("no end")
		}
		r, err := model.Collect(Name, New().Stream(t.Context(), model.Request{Messages: messages, Tools: s.tools(names...)}))
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, model.Message{Role: model.RoleAssistant, Text: r.Text, Calls: r.Done.Calls})
		b.WriteString(strings.TrimRight(r.Text, "\n") + "\n")
		if len(r.Done.Calls) == 0 {
			break
		}
		for _, c := range r.Done.Calls {
			m := s.run(c)
			messages = append(messages, m)
			fmt.Fprintf(&b, "  %s %s", c.Name, c.Args)
			if m.IsError {
				fmt.Fprintf(&b, " ✗ %s", clip(oneLine(m.Text), 120))
			}
			b.WriteString("\n")
		}
		if text, ok := steers[round]; ok {
			messages = append(messages, user(text))
			fmt.Fprintf(&b, "↳ %s\n", text)
		}
	}
	for _, p := range sortedKeys(s.files) {
		if s.files[p] != before[p] {
			fmt.Fprintf(&b, "-- after %s --\n%s", p, s.files[p])
		}
	}
	for _, p := range sortedKeys(before) {
		if _, ok := s.files[p]; !ok {
			fmt.Fprintf(&b, "-- after %s --\n(deleted)\n", p)
		}
	}
	return b.String()
}
