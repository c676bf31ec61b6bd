package contextplan

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what the stories say now")

// TestStories runs each input of testdata/stories and compares the whole consequence, as JSON and as people see it. A
// story opens with what it shows. Its input is written as people write it; -update rewrites the rest.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			story, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input := story.Files[0].Data
			got := []txtar.File{story.Files[0]}
			out, err := Run(input, true)
			got = append(got, txtar.File{Name: "plan.json", Data: indent(t, out)})
			if err == nil {
				text, err := Run(input, false)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, txtar.File{Name: "plan.txt", Data: text})
				checkStory(t, input, out)
			} else {
				got = append(got, txtar.File{Name: "error.txt", Data: []byte(err.Error() + "\n")})
			}
			want := txtar.Format(story)
			have := txtar.Format(&txtar.Archive{Comment: story.Comment, Files: got})
			if bytes.Equal(want, have) {
				return
			}
			if *update {
				if err := os.WriteFile(file, have, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("the story goes differently now (-update if that is right):\n%s", have)
		})
	}
}

func indent(t *testing.T, compact []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func checkStory(t *testing.T, input, out []byte) {
	t.Helper()
	in, err := ParseInput(input)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParsePlan(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(in, p); err != nil {
		t.Error(err)
	}
}

// TestPlanIDIsTheSameOnEveryMachine: the id in the file was computed once; a change of it breaks every stored reference.
func TestPlanIDIsTheSameOnEveryMachine(t *testing.T) {
	in := usualWorld(2_000)
	p, err := Build(shuffled(in, 5))
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(in, p); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/plan-id.txt"
	if *update {
		if err := os.WriteFile(file, []byte(p.PlanID+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if p.PlanID+"\n" != string(want) {
		t.Errorf("the id is %s, and was %s", p.PlanID, want)
	}
}

func TestBadInputNamesTheCandidate(t *testing.T) {
	const budget = `"budget":{"contextWindow":100}`
	for _, test := range []struct{ input, candidate, field string }{
		{``, "", "input"},
		{`[]`, "", "input"},
		{`null`, "", "input"},
		{`{` + budget + `} {}`, "", "input"},
		{`{` + budget + `}x`, "", "input"},
		{`{` + budget, "", "input"},
		{`{"budget":{"contextWindow":-1}}`, "", "budget.contextWindow"},
		{`{"budget":{"contextWindow":1,"reserveOutput":-1}}`, "", "budget.reserveOutput"},
		{`{"budget":{"contextWindow":1,"reserveOutput":2}}`, "", "budget.reserveOutput"},
		{`{"budget":{"contextWindow":"1"}}`, "", "budget.contextWindow"},
		{`{` + budget + `,"overflow":"cut"}`, "", "overflow"},
		{`{` + budget + `,"candidates":[{"section":"focus"}]}`, "", "id"},
		{`{` + budget + `,"candidates":[{"id":"a"}]}`, "a", "section"},
		{`{` + budget + `,"candidates":[{"id":"a","section":"footer"}]}`, "a", "section"},
		{`{` + budget + `,"candidates":[{"id":"a","section":"focus","tokens":-1}]}`, "a", "tokens"},
		{`{` + budget + `,"candidates":[{"id":"a","section":"focus","tokens":1e30}]}`, "a", "tokens"},
		{`{` + budget + `,"candidates":[{"id":"a","section":"focus","tokens":2000000000000}]}`, "a", "tokens"},
		{`{` + budget + `,"candidates":[{"id":"b","section":"focus"},{"id":"a","section":"focus","tokens":"1"}]}`, "a", "tokens"},
		{`{` + budget + `,"candidates":[{"id":"b","section":"focus"},{"section":7}]}`, "#2", "section"},
		{`{` + budget + `,"candidates":[{"id":"a","section":"focus"},{"id":"a","section":"memory"}]}`, "a", "id"},
		{`{` + budget + `,"candidates":[{"id":"a","section":"focus","dependsOn":["z","b"]}]}`, "a", "dependsOn"},
		{`{` + budget + `,"candidates":[{"id":"a","section":"focus","ttl":-1}]}`, "a", "ttl"},
		{`{` + budget + `,"candidates":[{"id":"a","section":"focus","span":{}}]}`, "a", "span.path"},
		{`{` + budget + `,"candidates":[{"id":"a","section":"focus","span":{"path":"x","start":-1}}]}`, "a", "span.start"},
		{`{` + budget + `,"candidates":[{"id":"a","section":"focus","span":{"path":"x","start":3,"end":2}}]}`, "a", "span.end"},
	} {
		in, err := ParseInput([]byte(test.input))
		if err == nil {
			_, err = Build(in)
		}
		var bad *InputError
		if !errors.As(err, &bad) || bad.Candidate != test.candidate || bad.Field != test.field {
			t.Errorf("%s\ngives %v; want candidate %q, field %q", test.input, err, test.candidate, test.field)
		}
	}
}

func TestUnknownFieldsAndAbsentNumbersAreFine(t *testing.T) {
	out, err := Run([]byte(` {"future":1,"budget":{},"candidates":[{"id":"a","section":"focus","new":[{}],"ttl":null}]} `+"\n"), true)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParsePlan(out)
	if err != nil || len(p.Included) != 1 {
		t.Errorf("%v %s", err, out)
	}
	if out, _ := Run([]byte(`{}`), true); !bytes.Contains(out, []byte(`"included":[],"excluded":[],"overflow":null,"breakpoints":[]}`)) {
		t.Errorf("empty lists must be [], and no overflow null: %s", out)
	}
}
