package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

// Tuning fits the weights of the fusion to candidates that -dump wrote. It is a
// help for choosing them by hand: what it gives is rounded and goes into
// rag/fuse.go. Fit on other repositories than those you report on.

type tuneCase struct {
	ID    string    `json:"id"`
	Repo  string    `json:"repo"`
	Gold  int       `json:"gold"`
	Feats []string  `json:"feats"`
	Rows  []tuneRow `json:"rows"`
}

type tuneRow struct {
	P string    `json:"p"`
	Y int       `json:"y"`
	X []float64 `json:"x"`
}

func loadDump(path string) ([]tuneCase, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []tuneCase
	d := json.NewDecoder(bufio.NewReader(f))
	for d.More() {
		var c tuneCase
		if err := d.Decode(&c); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

const (
	tuneSteps = 600
	tuneRate  = .02
	tuneDecay = .05 // how strongly the weights are held to where they begin
	tuneTemp  = 6   // how sharply the fused score decides in the soft objective
)

// fit maximises the likelihood that the relevant files are drawn first.
func fit(cases []tuneCase, start []float64, fixed []bool) []float64 {
	w := slices.Clone(start)
	n := len(w)
	m1, m2 := make([]float64, n), make([]float64, n)
	for step := 1; step <= tuneSteps; step++ {
		grad := make([]float64, n)
		for _, c := range cases {
			gradient(c, w, grad)
		}
		for k := range w {
			if fixed[k] {
				continue
			}
			g := grad[k]/float64(len(cases)) - tuneDecay*(w[k]-start[k])
			m1[k] = .9*m1[k] + .1*g
			m2[k] = .999*m2[k] + .001*g*g
			w[k] += tuneRate * (m1[k] / (1 - math.Pow(.9, float64(step)))) / (math.Sqrt(m2[k]/(1-math.Pow(.999, float64(step)))) + 1e-8)
		}
	}
	return w
}

func gradient(c tuneCase, w, grad []float64) {
	gold := 0
	s := make([]float64, len(c.Rows))
	top := math.Inf(-1)
	for i, r := range c.Rows {
		for k, x := range r.X {
			s[i] += w[k] * x
		}
		s[i] *= tuneTemp
		top = max(top, s[i])
		gold += r.Y
	}
	if gold == 0 {
		return
	}
	// Each relevant file competes with the irrelevant ones only.
	z := 0.0
	for i, r := range c.Rows {
		s[i] = math.Exp(s[i] - top)
		if r.Y == 0 {
			z += s[i]
		}
	}
	for i, r := range c.Rows {
		if r.Y == 0 {
			continue
		}
		t := z + s[i]
		for k := range grad {
			grad[k] += tuneTemp * r.X[k] * (1 - s[i]/t) / float64(gold)
		}
		for j, q := range c.Rows {
			if q.Y == 0 {
				p := tuneTemp * s[j] / t / float64(gold)
				if p > 1e-6 {
					for k := range grad {
						grad[k] -= p * q.X[k]
					}
				}
			}
		}
	}
}

type tuned struct{ r5, r10, mrr, all10 float64 }

func (t tuned) String() string {
	return fmt.Sprintf("R@5 %.3f R@10 %.3f MRR %.3f All@10 %.3f sum %.3f", t.r5, t.r10, t.mrr, t.all10, t.r5+t.r10+t.mrr+t.all10)
}

func evaluate(cases []tuneCase, w []float64) tuned {
	var t tuned
	for _, c := range cases {
		type row struct {
			s float64
			y int
			p string
		}
		rows := make([]row, len(c.Rows))
		for i, r := range c.Rows {
			rows[i] = row{0, r.Y, r.P}
			for k, x := range r.X {
				rows[i].s += w[k] * x
			}
		}
		slices.SortFunc(rows, func(a, b row) int {
			switch {
			case a.s > b.s:
				return -1
			case a.s < b.s:
				return 1
			}
			return strings.Compare(a.p, b.p)
		})
		n5, n10, rr := 0.0, 0.0, 0.0
		for i, r := range rows {
			if r.y == 0 {
				continue
			}
			if i < 5 {
				n5++
			}
			if i < 10 {
				n10++
			}
			if rr == 0 {
				rr = 1 / float64(i+1)
			}
		}
		t.r5 += n5 / float64(c.Gold)
		t.r10 += n10 / float64(c.Gold)
		t.mrr += rr
		if int(n10) == c.Gold {
			t.all10++
		}
	}
	n := float64(max(1, len(cases)))
	return tuned{t.r5 / n, t.r10 / n, t.mrr / n, t.all10 / n}
}

// nearest keeps the candidates that have a chance to be first: that is where the
// weights matter, and it is a third of the work.
func nearest(cases []tuneCase, w []float64) []tuneCase {
	const keep = 60
	out := slices.Clone(cases)
	for i, c := range out {
		score := func(x []float64) float64 {
			s := 0.0
			for k, v := range x {
				s += w[k] * v
			}
			return s
		}
		rows := slices.Clone(c.Rows)
		slices.SortStableFunc(rows, func(a, b tuneRow) int { return cmp.Compare(score(b.X), score(a.X)) })
		n := 0
		out[i].Rows = slices.DeleteFunc(rows, func(r tuneRow) bool { n++; return n > keep && r.Y == 0 })
	}
	return out
}

// tune fits on one dump and reports on both; drop names features to leave out.
func tune(fitOn, reportOn string, start []float64, drop []string) error {
	a, err := loadDump(fitOn)
	if err != nil || len(a) == 0 {
		return fmt.Errorf("load %s: %w", fitOn, err)
	}
	var b []tuneCase
	if reportOn != "" {
		if b, err = loadDump(reportOn); err != nil {
			return err
		}
	}
	names := a[0].Feats
	fixed := make([]bool, len(names))
	zero := slices.Clone(start)
	for k, n := range names {
		if slices.Contains(drop, n) {
			fixed[k], zero[k] = true, 0
		}
	}
	fullA := a
	a = nearest(a, start)
	fmt.Println("as it is, fit set:   ", evaluate(fullA, start))
	if b != nil {
		fmt.Println("as it is, report set:", evaluate(b, start))
	}
	w := fit(a, zero, fixed)
	fmt.Println("fitted, fit set:     ", evaluate(fullA, w))
	if b != nil {
		fmt.Println("fitted, report set:  ", evaluate(b, w))
	}
	var left []tuneCase
	var total tuned
	repos := map[string]bool{}
	for _, c := range a {
		repos[c.Repo] = true
	}
	for repo := range repos {
		var held []tuneCase
		left = left[:0]
		for i, c := range a {
			if c.Repo == repo {
				held = append(held, fullA[i])
			} else {
				left = append(left, c)
			}
		}
		t := evaluate(held, fit(left, zero, fixed))
		n := float64(len(held)) / float64(len(a))
		total = tuned{total.r5 + n*t.r5, total.r10 + n*t.r10, total.mrr + n*t.mrr, total.all10 + n*t.all10}
	}
	fmt.Println("one repository out:  ", total)
	for k, n := range names {
		fmt.Printf("  %-12s %7.2f -> %7.2f\n", n, start[k], w[k])
	}
	return nil
}
