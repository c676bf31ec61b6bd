package builtin

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

func TestTryReq(t *testing.T) {
	raw, err := os.ReadFile(os.Getenv("TRYREQ"))
	if err != nil {
		t.Skip()
	}
	var req model.Request
	json.Unmarshal(raw, &req)
	tr := readTranscript(req.Messages)
	fmt.Printf("request %q steers %q rounds %d steps %d notes %d\n", tr.request, tr.steers, tr.rounds, len(tr.steps), len(tr.notes))
	r := newRun(tr, newToolbox(req.Tools))
	it := parse(tr.request)[0]
	q := r.question(it, narrow{})
	c := newCorpus()
	for _, n := range tr.notes {
		c.takeBlocks(n)
	}
	for _, m := range req.Messages {
		for _, cc := range m.Calls {
			for _, st := range tr.steps {
				if st.id == cc.ID {
					res := st.result
					res.call = decodeCall(cc)
					c.take(res)
				}
			}
		}
	}
	for i, l := range c.rank(q) {
		if i == 40 {
			break
		}
		fmt.Printf("%.2f %s:%d %s | %s\n", l.score, l.path, l.n, l.scope, l.text)
	}
	for i, w := range windows(c.rank(q), windowTop) {
		if i == 12 {
			break
		}
		fmt.Printf("W %.2f %s:%d-%d\n", w.score, w.path, w.from, w.to)
	}
	fmt.Println(reply(req).text, len(reply(req).calls))
}
