package builtin

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

func TestTryRank(t *testing.T) {
	if os.Getenv("TRYRANK") == "" {
		t.Skip()
	}
	s := loadShop(t, os.Getenv("TRYDIR"))
	it := parse(os.Getenv("TRYRANK"))[0]
	fmt.Printf("%+v\n", it)
	m := s.converse(t, []model.Message{{Role: "system", Text: "x"}, user(os.Getenv("TRYRANK"))}, s.tools())
	r := newRun(readTranscript(m), newToolbox(s.tools()))
	q := r.question(it, narrow{})
	c := newCorpus()
	for i := range m {
		for _, cc := range m[i].Calls {
			for _, st := range r.t.steps {
				if st.id == cc.ID {
					res := st.result
					res.call = decodeCall(cc)
					c.take(res)
				}
			}
		}
	}
	w := c.weigh(q.concepts)
	for i, cc := range q.concepts {
		fmt.Println(cc.raw, cc.ident, cc.verb, cc.weight, w[i])
	}
	for i, l := range c.rank(q) {
		if i == 40 {
			break
		}
		fmt.Printf("%.2f %s:%d %s | %s\n", l.score, l.path, l.n, l.scope, l.text)
	}
	for i, g := range grouped(c.rank(q)) {
		if i == 10 {
			break
		}
		fmt.Printf("G %.2f %s %s %d\n", g.score, g.path, g.scope, len(g.lines))
	}
}

func decodeCall(c model.Call) call {
	var a map[string]any
	json.Unmarshal(c.Args, &a)
	return call{c.Name, a}
}
