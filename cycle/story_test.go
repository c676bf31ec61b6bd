package cycle

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var updateStories = flag.Bool("update-stories", false, "write what the stories in testdata project to, instead of comparing")

// TestStories reads testdata/*.txt. Each is a txtar archive that begins with what it is about, and has
//
//	log     events as JSON lines (write ␍ for a CR at the end of a line)
//	policy  the delivery that auto means; optional
//	error   what ParseLog says; optional
//	ops     the ops of each event, one JSON list a line; made by -update-stories, as are the next two
//	model   the projection, indented
//	text    the tree, with steps and rounds
//
// The same is kept as one JSON document in testdata/corpus for the reducers of other languages.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories in testdata: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := tell(t, name, archive)
			corpus := filepath.Join("testdata", "corpus", name+".json")
			if *updateStories {
				write(t, file, txtar.Format(s.archive))
				write(t, corpus, s.corpus)
				return
			}
			was, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, file, was, txtar.Format(s.archive))
			was, err = os.ReadFile(corpus)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, corpus, was, s.corpus)
		})
	}
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, file string, was, is []byte) {
	t.Helper()
	if d := cmp.Diff(string(was), string(is)); d != "" {
		t.Errorf("%s (-is in the file +was computed); if that is right, run go test ./cycle -run TestStories -update-stories\n%s", file, d)
	}
}

type told struct {
	archive *txtar.Archive
	corpus  []byte
}

// tell computes a story's sections anew and checks on the way that all ways to project agree.
func tell(t *testing.T, name string, archive *txtar.Archive) told {
	t.Helper()
	var log, fault string
	var policy Policy
	out := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		switch f.Name {
		case "log":
			log = strings.ReplaceAll(string(f.Data), "␍", "\r")
			out.Files = append(out.Files, f)
		case "policy":
			policy.Auto = Delivery(strings.TrimSpace(string(f.Data)))
			out.Files = append(out.Files, f)
		case "error", "ops", "model", "text":
		default:
			t.Fatalf("unknown section %q", f.Name)
		}
	}
	events, err := ParseLog([]byte(log))
	if err != nil {
		fault = err.Error() + "\n"
	}
	checkAgreement(t, events, policy, 7)

	state := NewState(policy)
	doc := struct {
		Name   string            `json:"name"`
		About  string            `json:"about"`
		Auto   Delivery          `json:"auto,omitempty"`
		Events []json.RawMessage `json:"events"`
		Ops    [][]Op            `json:"ops"`
		Model  *Model            `json:"model"`
	}{Name: name, About: strings.TrimSpace(string(archive.Comment)), Auto: policy.Auto, Events: []json.RawMessage{}, Ops: [][]Op{}}
	var ops bytes.Buffer
	for _, e := range events {
		line, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		did := append([]Op{}, state.Apply(e)...)
		doc.Events, doc.Ops = append(doc.Events, line), append(doc.Ops, did)
		data, err := marshal(did)
		if err != nil {
			t.Fatal(err)
		}
		ops.Write(append(data, '\n'))
	}
	model := state.Model()
	doc.Model = &model
	indented, err := json.MarshalIndent(&model, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	add := func(name, data string) {
		if data != "" {
			out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(data)})
		}
	}
	add("error", fault)
	add("ops", ops.String())
	add("model", string(indented)+"\n")
	add("text", Text(model, TextOptions{View: ViewAll}))
	corpus, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return told{out, append(corpus, '\n')}
}
