package contextplan

import (
	"slices"
	"strings"
	"testing"
)

// TestCheckFindsWhatIsWrong breaks a good plan in every way there is. The id is made right again each time, so that it
// is not the id that gives it away.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	expired := 0
	in := Input{Budget: Budget{ContextWindow: 1000}, Candidates: []Candidate{
		{ID: "sys", Section: System, Tokens: 100, Required: true},
		{ID: "call", Section: History, Tokens: 50, Group: "e", Seq: 1, Sent: true},
		{ID: "result", Section: History, Tokens: 50, Group: "e", Seq: 2, Sent: true},
		{ID: "read", Section: History, Tokens: 100, TTL: &expired, Seq: 3},
		{ID: "edit", Section: History, Tokens: 100, DependsOn: []string{"read"}, Seq: 4},
		{ID: "old", Section: History, Tokens: 10, TTL: &expired, Seq: 5},
		{ID: "big", Section: Retrieval, Tokens: 900, Seq: 6},
		{ID: "span", Section: Retrieval, Tokens: 50, Seq: 7, Span: &Span{"a.go", 1, 50}},
		{ID: "line", Section: Retrieval, Tokens: 5, Seq: 8, Span: &Span{"a.go", 3, 4}},
		{ID: "ask", Section: Request, Tokens: 100, Pinned: true, Seq: 9},
	}}
	at := func(items []Item, id string) int {
		return slices.IndexFunc(items, func(i Item) bool { return i.ID == id })
	}
	putOut := func(p *Plan, id string, reason Reason) {
		i := at(p.Included, id)
		item := p.Included[i]
		item.Reason = reason
		p.Included = slices.Delete(p.Included, i, i+1)
		p.Budget.Estimated -= item.Tokens
		p.Excluded = append(p.Excluded, item)
	}
	putIn := func(p *Plan, id string, place int) {
		i := at(p.Excluded, id)
		item := p.Excluded[i]
		p.Excluded = slices.Delete(p.Excluded, i, i+1)
		item.Reason = ReasonBudget
		p.Included = slices.Insert(p.Included, place, item)
		p.Budget.Estimated += item.Tokens
	}
	for _, test := range []struct {
		name  string
		spoil func(p *Plan)
		want  string
	}{
		{"nothing", func(*Plan) {}, ""},
		{"forgotten", func(p *Plan) { p.Excluded = p.Excluded[1:] }, "neither in nor out"},
		{"twice", func(p *Plan) { p.Excluded = append(p.Excluded, p.Included[0]) }, "twice"},
		{"unknown", func(p *Plan) { p.Included[0].ID = "nobody" }, "no candidate"},
		{"other section", func(p *Plan) { p.Included[0].Section = Memory }, "section"},
		{"other size", func(p *Plan) { p.Included[0].Tokens++ }, "tokens"},
		{"no detail", func(p *Plan) { p.Included[0].Detail = "" }, "no detail"},
		{"order", func(p *Plan) { p.Included[1], p.Included[2] = p.Included[2], p.Included[1] }, "comes before"},
		{"half an episode", func(p *Plan) { putOut(p, "call", ReasonBudget); sortItems(in, p.Excluded) }, "belong together"},
		{"without its dependency", func(p *Plan) { putOut(p, "read", ReasonTTL); sortItems(in, p.Excluded) }, "on which it depends"},
		{"sum", func(p *Plan) { p.Budget.Estimated++ }, "sum up"},
		{"prompt", func(p *Plan) { p.Budget.Prompt++ }, "prompt"},
		{"overflow that isn't", func(p *Plan) { p.Overflow = &Overflow{"ask", 100, 100} }, "overflow"},
		{"required, not so", func(p *Plan) { p.Included[1].Reason = ReasonRequired }, "is in with reason"},
		{"dependency of nothing", func(p *Plan) { p.Included[1].Reason = ReasonDependency }, "is in with reason"},
		{"wrong reason out", func(p *Plan) { p.Excluded[at(p.Excluded, "line")].Reason = ReasonDuplicate }, "is out with reason"},
		{"required out", func(p *Plan) { putOut(p, "sys", ReasonBudget); sortItems(in, p.Excluded) }, "required or pinned"},
		{"wasted room", func(p *Plan) { putOut(p, "span", ReasonBudget); sortItems(in, p.Excluded) }, "of the"},
		{"redundant in", func(p *Plan) { putIn(p, "line", at(p.Included, "ask")) }, "shadowed"},
		{"expired in", func(p *Plan) { putIn(p, "old", at(p.Included, "edit")+1) }, "is in with reason"},
		{"over budget", func(p *Plan) { putIn(p, "big", at(p.Included, "edit")+1) }, "over the prompt"},
		{"breakpoints", func(p *Plan) { p.Breakpoints = []int{0} }, "breakpoints"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := Build(in)
			if err != nil {
				t.Fatal(err)
			}
			test.spoil(&p)
			p.PlanID = planID(&p)
			err = Check(in, p)
			if test.name == "nothing" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Check says %v, not %q", err, test.want)
			}
		})
	}
	p, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	p.PlanID = "plan-0"
	if err := Check(in, p); err == nil {
		t.Error("Check takes any id")
	}
}

// sortItems puts items in the order of sending.
func sortItems(in Input, items []Item) {
	seq := map[string]int{}
	for _, c := range in.Candidates {
		seq[c.ID] = c.Seq
	}
	slices.SortStableFunc(items, func(a, b Item) int {
		return (min(sectionRank(a.Section), stableSections)-min(sectionRank(b.Section), stableSections))*1000 + seq[a.ID] - seq[b.ID]
	})
}
