package review

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

var update = flag.Bool("update", false, "write what the stories give into them")

// TestStories walks testdata/*.txtar. Each file of an archive is a step of the
// story: its name is what happens, its content is the argument.
//
//	start             the file as it is
//	agent E [held]    the agent's whole new text, as edit E
//	create E [held], delete E [held]
//	user              the person's whole new shown text
//	type OLD=>NEW     the person replaces the first OLD by NEW ("\n" is a line's end)
//	user-delete, user-create, undo (TEXT: an editor's undo to this text)
//	accept ID|all, reject ID|all G, unreject G
//	want              the state (see dump), written by -update
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := &story{}
			for i, step := range a.Files {
				if step.Name == "want" {
					got := dump(s.f)
					if *update {
						a.Files[i].Data = []byte(got)
					} else if got != string(step.Data) {
						t.Errorf("after %s:\n%s\nwant:\n%s", a.Files[i-1].Name, got, step.Data)
					}
					continue
				}
				if err := s.do(strings.Fields(step.Name), step.Name, string(step.Data)); err != nil {
					t.Fatalf("%s: %v", step.Name, err)
				}
				if err := s.f.Check(); err != nil {
					t.Fatalf("%s: %v", step.Name, err)
				}
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

type story struct {
	f    File
	line Timeline
	ids  int
}

func (s *story) id() string { s.ids++; return fmt.Sprintf("h%d", s.ids) }

func (s *story) do(words []string, name, data string) (err error) {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	ref, held := Ref{EditID: arg(1)}, arg(2) == "held"
	match := func(h *Hunk) bool { return arg(1) == "all" || h.Answers(arg(1)) }
	before := s.f
	switch words[0] {
	case "start":
		s.f = New(data)
		return nil
	case "agent":
		s.f, err = s.f.Agent(data, ref, held, s.id)
	case "create":
		s.f, err = s.f.Create(data, ref, held, s.id)
	case "delete":
		s.f, err = s.f.Delete(ref, held, s.id)
	case "accept":
		s.f, _ = s.f.Accept(match)
		s.line.Reset()
		return nil
	case "reject":
		s.f, _ = s.f.Reject(match, arg(2))
	case "unreject":
		s.f, _ = s.f.UndoReject(arg(1))
	case "withhold":
		s.f = s.f.Withhold()
	case "user", "undo":
		s.f, err = s.line.User(s.f, text.Diff(s.f.Shown(), data))
		return err
	case "type":
		old, now, _ := strings.Cut(strings.TrimPrefix(name, "type "), "=>")
		unescape := strings.NewReplacer(`\n`, "\n", `\r`, "\r")
		old, now = unescape.Replace(old), unescape.Replace(now)
		i := strings.Index(s.f.Shown(), old)
		if i < 0 {
			return fmt.Errorf("no %q in %q", old, s.f.Shown())
		}
		s.f, err = s.line.User(s.f, []text.Edit{{Start: i, End: i + len(old), New: now}})
		return err
	case "user-delete":
		s.f = s.line.UserDelete(s.f)
		return nil
	case "user-create":
		s.f = s.line.UserCreate(s.f, data)
		return nil
	default:
		return fmt.Errorf("unknown step")
	}
	s.line.Op(before, s.f)
	return err
}
