package contextplan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// inputs draws small worlds in which collisions, circles and full budgets are the rule: few ids, groups, paths, hashes.
func inputs() *rapid.Generator[Input] {
	return rapid.Custom(func(t *rapid.T) Input {
		n := rapid.IntRange(0, 14).Draw(t, "n")
		few := rapid.IntRange(1, 4).Draw(t, "few")
		rare := func(name string, oneIn int) bool { return rapid.IntRange(0, oneIn-1).Draw(t, name) == oneIn-1 }
		in := Input{Overflow: rapid.SampledFrom([]string{"", OverflowFail, OverflowTruncateLatest}).Draw(t, "overflow")}
		in.Budget.ReserveOutput = rapid.IntRange(0, 5).Draw(t, "reserve")
		in.Budget.ContextWindow = in.Budget.ReserveOutput + rapid.IntRange(0, 60).Draw(t, "prompt")
		id := func(i int) string { return fmt.Sprintf("c%02d", i) }
		other := func() string { return id(rapid.IntRange(0, n-1).Draw(t, "other")) }
		for i := range n {
			c := Candidate{ID: id(i), Section: rapid.SampledFrom(Sections()).Draw(t, "section")}
			c.Tokens = rapid.IntRange(0, 20).Draw(t, "tokens")
			c.Priority = float64(rapid.IntRange(0, 2).Draw(t, "priority"))
			c.Score = float64(rapid.IntRange(0, 2).Draw(t, "score")) / 2
			c.Seq = rapid.IntRange(0, 5).Draw(t, "seq")
			c.Sent, c.Required, c.Pinned = rare("sent", 3), rare("required", 8), rare("pinned", 8)
			if rare("hasTTL", 3) {
				ttl := rapid.IntRange(0, 1).Draw(t, "ttl")
				c.TTL = &ttl
			}
			if rare("grouped", 4) {
				c.Group = fmt.Sprint("g", rapid.IntRange(0, few).Draw(t, "group"))
			}
			for rare("depends", 4) {
				c.DependsOn = append(c.DependsOn, other())
			}
			for rare("supersede", 5) {
				c.Supersedes = append(c.Supersedes, rapid.SampledFrom([]string{other(), "gone"}).Draw(t, "older"))
			}
			if rare("hash", 3) {
				c.ContentHash = fmt.Sprint("h", rapid.IntRange(0, few).Draw(t, "hash"))
			}
			if rare("spanned", 2) {
				start := rapid.IntRange(0, 6).Draw(t, "start")
				c.Span = &Span{fmt.Sprint("p", rapid.IntRange(0, few/2).Draw(t, "path")), start, start + rapid.IntRange(0, 6).Draw(t, "lines")}
			}
			in.Candidates = append(in.Candidates, c)
		}
		return in
	})
}

// shuffled is the same input in another order, inner lists too.
func shuffled(in Input, seed uint64) Input {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := in
	out.Candidates = append([]Candidate(nil), in.Candidates...)
	for i := range out.Candidates {
		c := &out.Candidates[i]
		c.DependsOn = append([]string(nil), c.DependsOn...)
		c.Supersedes = append([]string(nil), c.Supersedes...)
		for _, list := range [][]string{c.DependsOn, c.Supersedes} {
			rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
	}
	rng.Shuffle(len(out.Candidates), func(i, j int) {
		out.Candidates[i], out.Candidates[j] = out.Candidates[j], out.Candidates[i]
	})
	return out
}

func TestPlansKeepEveryContract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs().Draw(t, "input")
		p, err := Build(in)
		var overflow *OverflowError
		if errors.As(err, &overflow) {
			checkOverflow(t, in, overflow)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(in, p); err != nil {
			t.Fatal(err)
		}
	})
}

func checkOverflow(t *rapid.T, in Input, e *OverflowError) {
	sum := 0
	for _, item := range e.Required {
		sum += item.Tokens
	}
	if sum != e.Needed || e.Needed <= e.Prompt || e.Prompt != in.Budget.Prompt() {
		t.Fatalf("%+v does not add up", e)
	}
}

func TestOrderOfArrivalIsWithoutEffect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs().Draw(t, "input")
		other := shuffled(in, rapid.Uint64().Draw(t, "seed"))
		a, errA := Build(in)
		b, errB := Build(other)
		if fmt.Sprint(errA) != fmt.Sprint(errB) {
			t.Fatalf("%v\n%v", errA, errB)
		}
		if string(a.AppendJSON(nil)) != string(b.AppendJSON(nil)) {
			t.Fatalf("%s\n%s", a.AppendJSON(nil), b.AppendJSON(nil))
		}
	})
}

// TestTheNextPlanBeginsWithTheLast: while there is room for what is new and required, and nothing new replaces anything
// or outranks it, plans are append-only, however much else would like to be in.
func TestTheNextPlanBeginsWithTheLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timeline := Sections()[stableSections:]
		in := Input{Budget: Budget{ContextWindow: rapid.IntRange(50, 300).Draw(t, "prompt")}}
		var last Plan
		seq := 0
		for turn := range rapid.IntRange(2, 5).Draw(t, "turns") {
			room := in.Budget.Prompt() - last.Budget.Estimated
			for n := range rapid.IntRange(1, 6).Draw(t, "new") {
				seq++
				c := Candidate{ID: fmt.Sprintf("t%d-%d", turn, n), Seq: seq, Priority: 50}
				c.Section = rapid.SampledFrom(timeline).Draw(t, "section")
				c.Tokens = rapid.IntRange(0, 60).Draw(t, "tokens")
				c.Score = rapid.Float64Range(0, 1).Draw(t, "score")
				if rapid.Bool().Draw(t, "grouped") {
					c.Group = fmt.Sprint("episode-", turn, "-", n/2)
				} else if n == 0 && c.Tokens <= room {
					c.Required = true
				}
				in.Candidates = append(in.Candidates, c)
			}
			p, err := Build(in)
			if err != nil {
				t.Fatal(err)
			}
			if d := Diff(last, p); d.Kept != len(last.Included) {
				t.Fatalf("turn %d: %s", turn, DiffText(d, nil))
			}
			last = p
			isIn := map[string]bool{}
			for _, item := range p.Included {
				isIn[item.ID] = true
			}
			kept := in.Candidates[:0:0]
			for _, c := range in.Candidates {
				if isIn[c.ID] {
					c.Sent, c.Required = true, false
					kept = append(kept, c)
				}
			}
			in.Candidates = kept
		}
	})
}
