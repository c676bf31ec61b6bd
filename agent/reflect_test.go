package agent

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/model"
)

func TestReflect(t *testing.T) {
	tests := []struct {
		tool, status, text, ref, detail, want string
	}{
		{"read", "ok", "x", "", `{"summary":"12 lines","paths":["a.go:1-12"]}`, `tool=read status=ok finding="12 lines" next_action="use it"`},
		{"grep", "ok", "no matches", "", `{"summary":"no matches"}`, `tool=grep status=ok finding="no matches" next_action="look for something else"`},
		{"grep", "ok", "x", "", `{"summary":"100 matches","matches":100,"truncated":true}`, `tool=grep status=partial finding="100 matches" next_action="narrow it down, or page on"`},
		{"bash", "ok", "x", "out-1", `{"summary":"exit 0"}`, `tool=bash status=partial finding="exit 0" next_action="page through ref:out-1 with scratchpad, or narrow it down"`},
		{"bash", "error", "x", "", `{"summary":"exit 1"}`, `tool=bash status=error finding="exit 1" next_action="find the cause in the output"`},
		{"bash", "error", "not permitted", "", `{"refused":"the person said no"}`, `tool=bash status=blocked finding="the person said no" next_action="do something else, or say what is in the way"`},
		{"edit", "ok", "changed", "", `{"summary":"+1 -1"}`, `tool=edit status=ok finding="+1 -1" next_action="check it"`},
		{"edit", "error", "oldText is nowhere\nmore", "", ``, `tool=edit status=error finding="oldText is nowhere" next_action="read the lines again, then repeat the edit"`},
		{"x", "cancelled", "", "", ``, `tool=x status=error finding="cancelled" next_action="it did not end; ask again only if it is still needed"`},
	}
	for _, x := range tests {
		got := reflect(entryCall{tool: x.tool, result: &cycle.ToolResult{Status: cycle.ResultStatus(x.status), Text: x.text, Ref: x.ref, Detail: json.RawMessage(x.detail)}})
		if got.String() != x.want {
			t.Errorf("got  %s\nwant %s", got, x.want)
		}
	}
}

// Each batch is followed by its reflection, requests only grow, and the run's
// ledger is in the scratchpad.
func TestReflections(t *testing.T) {
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			return "", []model.Call{call(1, "read", `{"path":"a.go"}`), call(2, "grep", `{"pattern":"nowhere"}`)}
		}
		if n == 2 {
			return "", []model.Call{call(3, "read", `{"path":"none.go"}`)}
		}
		return "done", nil
	})
	res := g.submit(SubmitParams{Input: "look at a.go and b.go"})
	g.ended(res.TurnID)
	last := g.requests[2].Messages
	var notes []string
	for i, m := range last {
		if strings.HasPrefix(m.Text, reflectionMark) {
			notes = append(notes, m.Text)
			if last[i-1].Role != model.RoleTool {
				t.Errorf("a reflection stands behind %s", last[i-1].Role)
			}
		}
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "tool=read status=ok") || !strings.Contains(notes[0], "tool=grep status=ok") || !strings.Contains(notes[1], "status=error") {
		t.Errorf("%q", notes)
	}
	for i := 1; i < len(g.requests); i++ {
		if !strings.HasPrefix(encode(t, g.requests[i]), encode(t, g.requests[i-1])) {
			t.Errorf("request %d does not begin with request %d", i+1, i)
		}
	}
	page, err := g.engine.Scratchpad(context.Background(), &ScratchpadParams{Ref: LedgerRef(res.RunID)})
	if err != nil || page.Lines != 3 || !strings.Contains(page.Text, "step 2: tool=read status=error") {
		t.Errorf("the ledger: %+v, %v", page, err)
	}
	g.identical(res.RunID)
}
