package contextplan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// world makes an input of n candidates, all of one adversarial or usual shape.
type world struct {
	name string
	make func(n int) Input
}

func candidates(n int, each func(i int, c *Candidate)) Input {
	in := Input{Budget: Budget{ContextWindow: 10 * n}}
	for i := range n {
		c := Candidate{ID: fmt.Sprintf("candidate-%06d", (i*7919)%n), Section: Retrieval, Tokens: 20 + i%40, Seq: i, Score: float64(i*31%1000) / 1000}
		each(i, &c)
		in.Candidates = append(in.Candidates, c)
	}
	return in
}

func idOf(n, i int) string { return fmt.Sprintf("candidate-%06d", (i*7919)%n) }

var worlds = []world{
	{"usual", usualWorld},
	{"one group", func(n int) Input {
		return candidates(n, func(i int, c *Candidate) { c.Group = "g"; c.ContentHash = "same"; c.Span = &Span{"a.go", i, i} })
	}},
	{"one chain", func(n int) Input {
		return candidates(n, func(i int, c *Candidate) {
			if i+1 < n {
				c.DependsOn = []string{idOf(n, i+1)}
			}
		})
	}},
	{"a chain with leaves, leaned on", func(n int) Input {
		return candidates(n, func(i int, c *Candidate) {
			third := n / 3
			switch {
			case i < third:
				c.Priority, c.DependsOn = 9, []string{idOf(n, third+i)}
				c.Tokens = 4 * n
			case i+1 < 2*third:
				c.DependsOn = []string{idOf(n, i+1), idOf(n, third+i)}
				c.Tokens = 1
			}
		})
	}},
	{"all on a hub that fits", func(n int) Input {
		return candidates(n, func(i int, c *Candidate) {
			switch {
			case i == 0:
				for j := n / 2; j < n; j++ {
					c.DependsOn = append(c.DependsOn, idOf(n, j))
				}
			case i < n/2:
				c.Priority, c.DependsOn, c.Tokens = 9, []string{idOf(n, 0)}, n
			default:
				c.Tokens = 19
			}
		})
	}},
	{"one path", func(n int) Input {
		return candidates(n, func(i int, c *Candidate) { c.Span = &Span{"a.go", n - i, n + i}; c.Priority = float64(n - i) })
	}},
	{"one content", func(n int) Input {
		return candidates(n, func(i int, c *Candidate) { c.ContentHash = "same" })
	}},
	{"versions", func(n int) Input {
		return candidates(n, func(i int, c *Candidate) {
			if i > 0 {
				c.Supersedes = []string{idOf(n, i-1)}
			}
			c.Priority = float64(n - i)
		})
	}},
	{"one summary of all", func(n int) Input {
		return candidates(n, func(i int, c *Candidate) {
			c.Supersedes = []string{idOf(n, 0)}
			if i == n-1 {
				for j := range n - 1 {
					c.Supersedes = append(c.Supersedes, idOf(n, j))
				}
			}
		})
	}},
	{"circles that overtake", func(n int) Input {
		return candidates(n, func(i int, c *Candidate) {
			expired := 0
			c.ContentHash = fmt.Sprint("h", i/2)
			if i%2 == 1 {
				c.TTL, c.Tokens = &expired, 1
			} else {
				c.DependsOn = []string{idOf(n, (i+3)%n/2*2+1)}
			}
		})
	}},
}

// usualWorld is what a long session looks like: episodes, chunks of files with overlaps, a few pins.
func usualWorld(n int) Input {
	sections := []Section{History, History, Retrieval, Retrieval, Focus, Memory}
	return candidates(n, func(i int, c *Candidate) {
		c.Section = sections[i%len(sections)]
		c.Sent = i%3 == 0
		c.Priority = float64(i % 5 * 10)
		switch {
		case c.Section == History:
			c.Group = fmt.Sprint("episode-", i/6)
			if i%6 == 1 {
				c.DependsOn = []string{idOf(n, i-1)}
			}
		case c.Section == Retrieval:
			start := i % 400 * 10
			c.Span = &Span{fmt.Sprintf("pkg/file%d.go", i%500), start, start + 20 + i%60}
			c.ContentHash = fmt.Sprint("hash-", i%(n/2+1))
		}
		if i%1000 == 0 {
			c.Pinned = true
		}
		if i%50 == 1 {
			c.Supersedes = []string{idOf(n, i/2)}
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	for _, w := range worlds {
		b.Run(w.name, func(b *testing.B) {
			in := w.make(20_000)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Build(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestWorkGrowsWithTheCandidates counts steps, which a busy machine can't change: four times the candidates may take up
// to six times the steps, of whatever shape they are. Quadratic work would take sixteen times as many.
func TestWorkGrowsWithTheCandidates(t *testing.T) {
	const small, large, bound, perCandidate = 5_000, 20_000, 6.0, 200
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			work := func(n int) int {
				in := w.make(n)
				s, err := choose(in)
				if err != nil {
					t.Fatal(err)
				}
				s.plan()
				return s.work + s.red.work
			}
			a, b := work(small), work(large)
			t.Logf("%d: %d steps, %d: %d steps", small, a, large, b)
			if ratio := float64(b) / float64(a); ratio > bound || b > perCandidate*large {
				t.Errorf("%d candidates take %d steps, %d take %d: %.1f times as many", small, a, large, b, ratio)
			}
		})
	}
}

// TestLargePlansKeepEveryContract does for the shapes above what the property test does for small inputs.
func TestLargePlansKeepEveryContract(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			in := w.make(900)
			p, err := Build(in)
			if err != nil {
				t.Fatal(err)
			}
			if err := Check(in, p); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func BenchmarkEstimateTokens(b *testing.B) {
	text := strings.Repeat("func (c *Client) reconnect(ctx context.Context) error {\n\treturn c.dial(ctx, 30*time.Second) // über TCP\n}\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		EstimateTokens(Code, text)
	}
}

func BenchmarkParseInput(b *testing.B) {
	data, err := json.Marshal(usualWorld(20_000))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := ParseInput(data); err != nil {
			b.Fatal(err)
		}
	}
}
