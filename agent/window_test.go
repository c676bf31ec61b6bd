package agent

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/rag"
)

// wideIndex always finds more than there is room for: for each query other
// pieces of the files wide0.go to wide39.go.
type wideIndex struct{ fixedIndex }

func (wideIndex) Search(_ context.Context, q rag.Query) (rag.Set, error) {
	set := rag.Set{RetrievalSetID: "rs-" + hashOf(q.Text), Query: q.Text}
	from, err := strconv.ParseUint(hashOf(q.Text)[:8], 16, 64)
	for i := range uint64(24) {
		n, line := (from+i*7)%40, int((from/40+i*13)%9)*20+1
		set.Items = append(set.Items, rag.Item{Path: fmt.Sprintf("wide%d.go", n), StartLine: line, EndLine: line + 19, Score: 1 / float64(i+1), ContentHash: "h",
			Why: []rag.Why{{Ranker: "bm25", Rank: int(i) + 1, Score: 1}}})
	}
	return set, err
}

// In a small window evidence leaves room for the talk: it is there in every
// turn, and hardly more compactions are made than without any.
func TestEvidenceLeavesRoom(t *testing.T) {
	const turns = 30
	for _, window := range []int{16 << 10, 32 << 10} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			without, _, _ := talkWith(t, fixedIndex{}, window, turns)
			with, least, share := talkWith(t, wideIndex{}, window, turns)
			t.Logf("%d turns: %d compactions with evidence, %d without; evidence is %.0f%% of a turn's first plan", turns, with, without, 100*share)
			if with > without+without/2+1 {
				t.Errorf("evidence makes %d compactions of %d", with, without)
			}
			if least == 0 || share < .1 || share > .5 {
				t.Errorf("a turn had %d tokens of evidence, all together %.0f%% of their first plans", least, 100*share)
			}
		})
	}
}

// talkWith holds a talk, and gives its compactions, the fewest tokens of
// evidence of a turn's first plan, and evidence's share of them all.
func talkWith(t *testing.T, index Retriever, window, turns int) (compactions, least int, share float64) {
	c, g := newConversation(t, window, func(g *rig) { g.index = index })
	var wide strings.Builder
	for i := range 200 {
		fmt.Fprintf(&wide, "// wide line%d says something of no great interest but some length\n", i)
	}
	for i := range 40 {
		g.write(fmt.Sprintf("wide%d.go", i), strings.ReplaceAll(wide.String(), "wide", fmt.Sprint("wide", i)))
	}
	c.talk(g, 0, turns)
	all, prompts, least := 0, 0, window
	for _, r := range g.plans() {
		if r.Call != 1 {
			continue
		}
		evidence := 0
		for _, it := range r.Plan.Included {
			if it.Section == contextplan.Retrieval {
				evidence += it.Tokens
			}
		}
		all, prompts, least = all+evidence, prompts+r.Plan.Budget.Prompt, min(least, evidence)
	}
	return len(g.compactions()), least, float64(all) / float64(prompts)
}
