package agent

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/model"
)

var updateRoutes = flag.Bool("update-routes", false, "write docs/routing.md's table anew")

// knownSymbols is the workspace of the table.
func knownSymbols(w string) bool { return w == "Scanner" || w == "ParseHeader" || w == "dialConn" }

// TestRoutes holds the table of docs/routing.md: varied inputs, each with its
// route and the reason, for a hosted model and for the embedded one.
func TestRoutes(t *testing.T) {
	data, err := os.ReadFile("testdata/route/inputs.txt")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| input | route | by | need | reason | with `builtin` |\n| --- | --- | --- | --- | --- | --- |\n")
	n := 0
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		n++
		a, _ := readInput(line)
		r, _ := routing{asked: a, input: line, knows: knownSymbols}.decide()
		own, _ := routing{asked: a, input: line, builtin: true, knows: knownSymbols}.decide()
		fmt.Fprintf(&b, "| %s | %s | %s | %.2f | %s | %s |\n", strings.ReplaceAll(line, "|", "\\|"), r.Words(), r.Method, r.Score, r.Reason, own.Words())
		if own.Method == "router" || own.Method == "score" {
			t.Errorf("%q: the embedded model was routed by %s", line, own.Method)
		}
	}
	if n < 40 {
		t.Errorf("%d inputs, want at least 40", n)
	}
	const file, begin, end = "../docs/routing.md", "<!-- routes -->\n", "<!-- /routes -->"
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(doc), begin)
	was, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal(file + " has no place for the table")
	}
	if *updateRoutes {
		if err := os.WriteFile(file, []byte(head+begin+b.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if was != b.String() {
		t.Errorf("the table of %s is another now; look at the difference and write it anew with -update-routes:\n%s", file, b.String())
	}
}

// saying is a small model that always says the same, and counts
// the requests of one kind.
func saying(mark, text string, n *int) model.Model {
	return model.Func(func(_ context.Context, req model.Request) iter.Seq2[model.Delta, error] {
		if strings.HasPrefix(req.Messages[0].Text, mark) {
			*n++
		}
		return func(yield func(model.Delta, error) bool) {
			if req.Temperature == nil || *req.Temperature != 0 || len(req.Tools) > 0 {
				yield(model.Delta{}, &model.Error{Kind: model.BadRequest, Message: "not at temperature 0 and without tools"})
				return
			}
			if yield(model.Delta{Text: text}, nil) {
				yield(model.Delta{Done: &model.Done{Finish: model.FinishStop, Usage: model.Usage{Input: 100, Output: 10, Reported: true}}}, nil)
			}
		}
	})
}

// The router decides once an input; its categories are the tools that the
// model is told of, and the trace says so.
func TestRouter(t *testing.T) {
	g := newRig(t, func(int, model.Request) (string, []model.Call) { return "ok", nil })
	asked := 0
	g.small = saying("[ROUTE]", "<think>hm</think>{\"categories\": [\"search\", \"write\"]}", &asked)
	for range 2 {
		g.ended(g.submit(SubmitParams{Input: "tidy what A returns"}).TurnID)
	}
	if asked != 1 {
		t.Errorf("the router was asked %d times for one input", asked)
	}
	var names []string
	for _, x := range g.requests[0].Tools {
		names = append(names, x.Name)
	}
	if got := strings.Join(names, " "); got != "edit find grep ls read references scratchpad search symbols task todo write" {
		t.Errorf("tools: %s", got)
	}
	tr, err := g.engine.Trace(context.Background(), &TraceParams{})
	if err != nil || len(tr.Routes) != 1 || tr.Routes[0].Method != "cache" || strings.Join(tr.Routes[0].Categories, " ") != "read search write" {
		t.Errorf("trace: %+v, %v", tr.Routes, err)
	}
	g.small = saying("[ROUTE]", "no idea", &asked)
	g.ended(g.submit(SubmitParams{Input: "tidy what B returns"}).TurnID)
	if last := g.requests[len(g.requests)-1]; len(last.Tools) < 12 {
		t.Errorf("a router that says nothing leaves %d tools", len(last.Tools))
	}
}

// A wrong downgrade repairs itself, once: by the line NEED TOOLS, which nobody
// sees, or by a call of a tool that was not offered.
func TestWrongDowngradeHeals(t *testing.T) {
	for _, how := range []string{"line", "call"} {
		g := newRig(t, func(n int, req model.Request) (string, []model.Call) {
			switch {
			case n > 1:
				return "B calls A", nil
			case how == "call":
				return "", []model.Call{call(1, "read", `{"path":"b.go"}`)}
			}
			return "NEED TOOLS", nil
		})
		res := g.submit(SubmitParams{Input: "#chat what does B do?"})
		c := g.ended(res.TurnID)
		if c.Content != "B calls A" || len(g.requests) != 2 || len(g.requests[0].Tools) != 0 || len(g.requests[1].Tools) < 12 {
			t.Fatalf("%s: %q after %d requests with %d tools first", how, c.Content, len(g.requests), len(g.requests[0].Tools))
		}
		if !strings.Contains(encodeJSON(t, g.requests[1].Messages), "a.go:1-3") {
			t.Errorf("%s: the second request has no evidence", how)
		}
		for _, n := range g.client.cycles {
			if strings.Contains(encodeJSON(t, n.Ops), needTools) {
				t.Errorf("%s: the person saw %s", how, needTools)
			}
		}
		tr, err := g.engine.Trace(context.Background(), &TraceParams{TurnID: res.TurnID})
		if err != nil || len(tr.Routes) != 2 || tr.Routes[0].Route != cycle.RouteChat || tr.Routes[1].Method != "need-tools" {
			t.Errorf("%s: routes %+v, %v", how, tr.Routes, err)
		}
	}
}

// A chat turn builds no tool schema, and what it costs is small.
func TestChatIsSmall(t *testing.T) {
	g := newRig(t, func(int, model.Request) (string, []model.Call) {
		return "Hello. NEED TOOLS is what I say when I need tools.", nil
	})
	c := g.ended(g.submit(SubmitParams{Input: "hi"}).TurnID)
	if body := encodeJSON(t, g.requests[0]); len(g.requests) != 1 || len(body) > 2000 || !strings.Contains(c.Content, "Hello.") {
		t.Errorf("%d requests, the first of %d bytes, answered %q", len(g.requests), len(body), c.Content)
	}
}

func TestCategoriesIn(t *testing.T) {
	for in, want := range map[string]string{
		`{"categories":["CONVERSATIONAL_ONLY"]}`:               "CONVERSATIONAL_ONLY",
		`Sure! {"categories": ["SHELL"]}`:                      "read shell",
		"<think>write?</think>\n{\"categories\":[\"search\"]}": "search",
		`{"categories":["conversational_only","read"]}`:        "read",
		"read, SEARCH":                        "read search",
		"I don't know":                        "",
		"I will read the file first.":         "",
		`{"categories":["read","telepathy"]}`: "",
		`{"categories":"read"}`:               "",
		"":                                    "",
	} {
		if got := strings.Join(categoriesIn(in), " "); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
