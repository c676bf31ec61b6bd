package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/tools"
)

func TestMentionsOf(t *testing.T) {
	tests := []struct {
		in   string
		want []mention
	}{
		{"look at @a.go and @net/dial.go:10-20, please", []mention{{Kind: "path", Text: "a.go"}, {Kind: "path", Text: "net/dial.go", Start: 10, End: 20}}},
		{"@selection @diagnostics @diff @diff", []mention{{Kind: "selection"}, {Kind: "diagnostics"}, {Kind: "diff"}}},
		{"why does @symbol:Dial fail? (@Conn.Read)", []mention{{Kind: "symbol", Text: "Dial"}, {Kind: "path", Text: "Conn.Read"}}},
		{"read @https://go.dev/doc/#x and @url:http://x.y/z.", []mention{{Kind: "url", Text: "https://go.dev/doc/#x"}, {Kind: "url", Text: "http://x.y/z"}}},
		{"mail me@example.com, no @ here, a@b", nil},
		{"@a.go:7 and @file:b.go", []mention{{Kind: "path", Text: "a.go", Start: 7, End: 7}, {Kind: "path", Text: "b.go"}}},
	}
	for _, x := range tests {
		if d := cmp.Diff(x.want, mentionsOf(x.in)); d != "" {
			t.Errorf("%q: %s", x.in, d)
		}
	}
	a, once := readInput("fix #123 with #research and #once, #define X #planning #research")
	if !once || !a.Planning || !slices.Equal(a.Tags, []string{"#research", "#once", "#planning"}) || !slices.Contains(a.Categories, tools.CategoryWeb) {
		t.Errorf("%+v, once %v", a, once)
	}
}

func FuzzReadInput(f *testing.F) {
	f.Add("@a.go:1-2 #research /x")
	f.Add("@@@:9999999999999999999-1")
	f.Fuzz(func(t *testing.T, in string) {
		a, _ := readInput(in)
		if len(a.Mentions) > attachmentsMax {
			t.Errorf("%d mentions", len(a.Mentions))
		}
		for _, m := range a.Mentions {
			if m.label() == "@" {
				t.Errorf("%q gives a mention of nothing", in)
			}
		}
		classify(in)
	})
}

// What a message mentions is in its plan with a reason, before the message,
// and stays the same when the file changes.
func TestMentionsAreAttached(t *testing.T) {
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			return "", []model.Call{call(1, "edit", `{"path":"a.go","edits":[{"oldText":"return 1","newText":"return 2"}]}`)}
		}
		return "done", nil
	})
	g.write("b.go", "package b\n\nfunc B() int { return 7 }\n")
	res := g.submit(SubmitParams{Input: "change @a.go like @b.go:3, see @nothing.go and @selection", Focus: &Focus{URI: "b.go", Range: &Range{End: Position{Line: 1}}}})
	if len(res.Chips) != 4 || res.Chips[0].Text != "@a.go" || res.Chips[1].Text != "@b.go:3" {
		t.Errorf("chips: %+v", res.Chips)
	}
	g.ended(res.TurnID)
	first := encodeJSON(t, g.requests[0].Messages)
	for _, want := range []string{"func A() int { return 1 }", "func B() int { return 7 }", "no such file, folder or symbol", `data source=\"b.go:1-1\"`} {
		if !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(first, `\u003c`, "<"), `\u003e`, ">"), want) {
			t.Errorf("the first request lacks %q:\n%s", want, first)
		}
	}
	if !strings.HasPrefix(encode(t, g.requests[1]), encode(t, g.requests[0])) {
		t.Error("the second request does not begin with the first")
	}
	p, err := g.engine.Plan(context.Background(), &PlanParams{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, it := range p.Included {
		if w := p.Labels[it.ID].Why; len(w) > 0 && w[0].Ranker == "mentioned" {
			found++
		}
	}
	if found != 4 {
		t.Errorf("%d attachments in the plan say that they were mentioned, want 4", found)
	}
	g.restart() // after a restart they are what they were
	g.open(func(int, model.Request) (string, []model.Call) { return "again", nil })
	next := g.submit(SubmitParams{Input: "and now what about it"})
	g.ended(next.TurnID)
	if last := encodeJSON(t, g.requests[len(g.requests)-1].Messages); !strings.Contains(last, "func A() int { return 1 }") {
		t.Error("after a restart the attachment of the last turn is gone")
	}
}

// What can't be attached is refused at once, and nothing is written down.
func TestBadAttachments(t *testing.T) {
	g := newRig(t, func(int, model.Request) (string, []model.Call) { return "done", nil })
	for uri, want := range map[string]string{"": "has no uri", "file:///etc/passwd": "outside the workspace", "gone.go": "can't be read", "file://" + g.dir + "/gone.go": "can't be read"} {
		_, err := g.engine.Submit(context.Background(), &SubmitParams{Input: "what is this?", Source: "test", Attachments: []Attachment{{URI: uri}}})
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeBadRequest || !strings.Contains(e.Message, want) || e.Hint == "" {
			t.Errorf("%q: %v, want %q", uri, err, want)
		}
	}
	res := g.submit(SubmitParams{Input: "what is this?", Attachments: []Attachment{{URI: "a.go"}, {URI: "untitled:Untitled-1"}}})
	if out := g.ended(res.TurnID); out.Type != "result" {
		t.Errorf("%+v", out)
	}
}

// A steer's attachments come with the steer.
func TestSteerAttaches(t *testing.T) {
	entered, steered := make(chan struct{}), make(chan struct{})
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			close(entered)
			<-steered
		}
		return "ok", nil
	})
	res := g.submit(SubmitParams{Input: "do it"})
	<-entered
	g.submit(SubmitParams{Input: "but like @b.go", Delivery: "steer"})
	close(steered)
	g.ended(res.TurnID)
	if len(g.requests) != 2 || !strings.Contains(encodeJSON(t, g.requests[1].Messages), "return A()") || !strings.HasPrefix(encode(t, g.requests[1]), encode(t, g.requests[0])) {
		t.Errorf("%d requests; the steer's file must be in the second, behind the first", len(g.requests))
	}
}

func TestDiagnosticsText(t *testing.T) {
	rel := func(s string) string { return strings.TrimPrefix(s, "file:///w/") }
	for _, raw := range []string{
		`[{"uri":"file:///w/a.go","diagnostics":[{"range":{"start":{"line":4,"character":0}},"severity":1,"message":"undefined:\n x","source":"compiler"}]}]`,
		`{"diagnostics":[{"uri":"file:///w/a.go","range":{"start":{"line":4}},"severity":1,"message":"undefined: x","source":"compiler"}]}`,
	} {
		if got := diagnosticsText(json.RawMessage(raw), rel); got != "a.go:5: error: undefined: x [compiler]\n" {
			t.Errorf("%s\ngives %q", raw, got)
		}
	}
	if got := diagnosticsText(json.RawMessage(`"x"`), rel); got != "" {
		t.Errorf("%q", got)
	}
}

// A pill's text goes to the model in its place; of a workspace that is not
// trusted it is data, and nothing of its settings counts.
func TestPills(t *testing.T) {
	g := newRig(t, func(int, model.Request) (string, []model.Call) { return "reviewed", nil })
	g.commands = []UserCommand{
		{Name: "review", Description: "look it over", Body: "Review $1 for $ARGUMENTS. See @b.go", Categories: []string{"read"}, Path: ".agent-lsp/commands/review.md", Workspace: true},
		{Name: "mine", Body: "Do my thing.", Mode: "planning", Model: "test/other", Path: "your commands/mine.md"},
		{Name: "help", Body: "shadowed by the state command"},
	}
	ctx := context.Background()
	list, err := g.engine.Commands(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list.Commands, func(c CommandInfo) bool { return c.Name == "/review" })
	if i < 0 || list.Commands[i].Kind != "user" || list.Commands[i].Trusted {
		t.Fatalf("commands: %+v", list.Commands)
	}
	ask := func(input string) (model.Request, *SubmitResult) {
		res := g.submit(SubmitParams{Input: input})
		if c := g.ended(res.TurnID).Metadata.Response; c.Type != "command" || c.Metadata.Classification.Method != "user-command" {
			t.Errorf("%s: %+v", input, c)
		}
		return g.requests[len(g.requests)-1], res
	}
	req, res := ask("/review a.go b")
	text := strings.ReplaceAll(strings.ReplaceAll(encodeJSON(t, req.Messages), `\u003c`, "<"), `\u003e`, ">")
	if !strings.Contains(text, `<data source=\".agent-lsp/commands/review.md\">`) || !strings.Contains(text, "/review a.go b") || res.Chips[0].Kind != "pill" {
		t.Errorf("an untrusted pill is not data only:\n%s", text)
	}
	g.submit(SubmitParams{Input: "/trust on"})
	req, _ = ask("/review a.go b")
	last := req.Messages[len(req.Messages)-1].Text
	if !strings.Contains(last, "Review a.go for a.go b. See @b.go") || !strings.Contains(last, "return A()") {
		t.Errorf("the pill was not put in:\n%s", last)
	}
	for _, tool := range req.Tools {
		if tool.Name == "edit" || tool.Name == "grep" && false {
			t.Errorf("the pill's categories are read, and %s is offered", tool.Name)
		}
	}
	req, _ = ask("/mine")
	for _, tool := range req.Tools {
		if tool.Name == "write" || tool.Name == "bash" {
			t.Errorf("the pill is for planning, and %s is offered", tool.Name)
		}
	}
	if req.Model != "test/other" {
		t.Errorf("the pill's model is %s", req.Model)
	}
	if _, err := g.engine.Submit(ctx, &SubmitParams{Input: "/reviewx", Source: "test"}); err == nil || !strings.Contains(err.Error(), "/review") {
		t.Errorf("/reviewx: %v", err)
	}
	c, err := g.engine.Complete(ctx, &CompleteParams{Text: "/re", Offset: 3})
	if err != nil || len(c.Items) != 1 || c.Items[0].Insert != "/review" {
		t.Errorf("completion: %+v, %v", c, err)
	}
}

func TestComplete(t *testing.T) {
	g := newRig(t, func(int, model.Request) (string, []model.Call) { return "ok", nil })
	for _, x := range []struct{ text, want string }{
		{"/pi", "/pin"}, {"see @di", "@diagnostics @diff"}, {"see @a.", "@a.go"}, {"#pl", "#planning"}, {"x #re", "#research"}, {"a /st", ""},
	} {
		c, err := g.engine.Complete(context.Background(), &CompleteParams{Text: x.text, Offset: len(x.text)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, it := range c.Items {
			got = append(got, it.Insert)
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%q: %v, want %s", x.text, got, x.want)
		}
	}
}

// Skills are named in the prompt and read on demand.
func TestSkills(t *testing.T) {
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			return "", []model.Call{call(1, "skill", `{"name":"pdf"}`)}
		}
		return "done", nil
	})
	g.skills = []Skill{{Name: "pdf", Description: "reads PDF files", Body: "Use pdftotext."}, {Name: "evil", Description: "of an untrusted workspace", Body: "x", Workspace: true}}
	g.ended(g.submit(SubmitParams{Input: "read the manual in a.go"}).TurnID)
	first, second := encodeJSON(t, g.requests[0]), encodeJSON(t, g.requests[1])
	if !strings.Contains(first, "pdf: reads PDF files") || strings.Contains(first, "pdftotext") || strings.Contains(first, "evil") || !strings.Contains(second, "Use pdftotext.") {
		t.Errorf("first:\n%s\nsecond:\n%s", first, second)
	}
	if !strings.Contains(first, `"name":"skill"`) {
		t.Error("the skill tool is not offered")
	}
}

// A selection of whole lines ends before the line after them.
func TestLinesOfARange(t *testing.T) {
	for _, x := range []struct {
		r           Range
		first, last int
	}{
		{Range{}, 1, 1},
		{Range{Start: Position{Line: 10}, End: Position{Line: 17}}, 11, 17},
		{Range{Start: Position{Line: 10, Character: 4}, End: Position{Line: 17, Character: 1}}, 11, 18},
		{Range{Start: Position{Line: 3, Character: 2}, End: Position{Line: 3, Character: 9}}, 4, 4},
	} {
		if first, last := x.r.lines(); first != x.first || last != x.last {
			t.Errorf("%+v: lines %d-%d, want %d-%d", x.r, first, last, x.first, x.last)
		}
	}
}
