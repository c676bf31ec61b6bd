package contextplan

// Change is a candidate that is in both plans with another reason, size or detail, or in on one side and out on the other.
type Change struct {
	Item              // as it is in the second plan
	Was    bool       `json:"was"` // whether the first plan included it
	Is     bool       `json:"is"`  // whether the second plan does
	Before ItemBefore `json:"before"`
}

// ItemBefore is what the first plan said.
type ItemBefore struct {
	Tokens int    `json:"tokens"`
	Reason Reason `json:"reason"`
	Detail string `json:"detail"`
}

// PlanDiff is what differs from plan A to plan B. The lists are in the order of B, what A alone knows in that of A, and
// never null. For a candidate that only one plan knows, see New and Gone.
type PlanDiff struct {
	A         string     `json:"a"`
	B         string     `json:"b"`
	Identical bool       `json:"identical"`
	BudgetA   PlanBudget `json:"budgetA"`
	BudgetB   PlanBudget `json:"budgetB"`
	In        []Change   `json:"in"`      // out in A, in in B
	Out       []Change   `json:"out"`     // in in A, out in B
	Changed   []Change   `json:"changed"` // on the same side, with another reason or size
	New       []Item     `json:"new"`     // in B, a candidate that A did not know
	NewOut    []Item     `json:"newOut"`  // out in B, a candidate that A did not know
	Gone      []Item     `json:"gone"`    // in A, no candidate any more in B
	// Kept is how many of A's items, from the first on, B begins with: when it is less than all, a prompt cache starts
	// anew after them.
	Kept      int       `json:"kept"`
	OverflowA *Overflow `json:"overflowA"`
	OverflowB *Overflow `json:"overflowB"`
}

// Diff compares two plans. A detail that differs alone is no change: it names what is left, which always differs.
func Diff(a, b Plan) PlanDiff {
	d := PlanDiff{
		A: a.PlanID, B: b.PlanID, Identical: a.PlanID == b.PlanID, BudgetA: a.Budget, BudgetB: b.Budget,
		In: []Change{}, Out: []Change{}, Changed: []Change{}, New: []Item{}, NewOut: []Item{}, Gone: []Item{},
		OverflowA: a.Overflow, OverflowB: b.Overflow,
	}
	type seen struct {
		item *Item
		in   bool
	}
	before := make(map[string]seen, len(a.Included)+len(a.Excluded))
	for i := range a.Included {
		before[a.Included[i].ID] = seen{&a.Included[i], true}
	}
	for i := range a.Excluded {
		before[a.Excluded[i].ID] = seen{&a.Excluded[i], false}
	}
	after := make(map[string]bool, len(b.Included)+len(b.Excluded))
	compare := func(item Item, is bool) {
		after[item.ID] = true
		was, known := before[item.ID]
		if !known {
			if is {
				d.New = append(d.New, item)
			} else {
				d.NewOut = append(d.NewOut, item)
			}
			return
		}
		c := Change{item, was.in, is, ItemBefore{was.item.Tokens, was.item.Reason, was.item.Detail}}
		switch {
		case is && !was.in:
			d.In = append(d.In, c)
		case !is && was.in:
			d.Out = append(d.Out, c)
		case item.Reason != was.item.Reason || item.Tokens != was.item.Tokens || item.Section != was.item.Section:
			d.Changed = append(d.Changed, c)
		}
	}
	for _, item := range b.Included {
		compare(item, true)
	}
	for _, item := range b.Excluded {
		compare(item, false)
	}
	for _, item := range a.Included {
		if !after[item.ID] {
			d.Gone = append(d.Gone, item)
		}
	}
	for d.Kept < min(len(a.Included), len(b.Included)) {
		x, y := a.Included[d.Kept], b.Included[d.Kept]
		if x.ID != y.ID || x.Tokens != y.Tokens {
			break
		}
		d.Kept++
	}
	return d
}
