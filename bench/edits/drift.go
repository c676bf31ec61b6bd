package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/tools"
	"github.com/agent-lsp/agent-lsp/tools/toolstest"
)

// version is a file that a hunk is applied to, and what should come out.
type version struct {
	text  string
	ideal string // "" = nothing should: it must be refused
	// The lines of text in which a change is in the right place; none when
	// first > last.
	first, last int
	// What should come of the diff form where that differs: it has line numbers.
	numbered string
	// Another revision of the file: where its lines come from is an estimate, so
	// that the exact old text, where it stands once, is the place.
	revision bool
	moved    bool // and the estimate finds none
}

// drift makes a version of a hunk's file; not ok where there is none.
type drift struct {
	name string
	make func(h hunk, seed uint64) (v version, ok bool)
}

var drifts = []drift{
	{"as it was", func(h hunk, _ uint64) (version, bool) { return of(h, items(h)), true }},
	{"blanks at line ends", lineEnds},
	{"CRLF", crlf},
	{"indented deeper", deeper},
	{"tabs and spaces swapped", swapped},
	{"block moved", moved},
	{"neighbours edited", neighbours},
	{"a line of context edited", contextEdited},
	{"copied elsewhere", copied},
	{"a near twin elsewhere", twin},
	{"its place deleted", deleted},
	{"earlier revisions", func(h hunk, seed uint64) (version, bool) { return revised(h, h.earlier, seed) }},
	{"later revisions", func(h hunk, seed uint64) (version, bool) { return revised(h, h.later, seed) }},
}

// item is a line with the place that it has in the file before; -1 for none.
type item struct {
	text string
	at   int
}

func items(h hunk) []item {
	out := make([]item, len(h.before))
	for i, l := range h.before {
		out[i] = item{l, i}
	}
	return out
}

// of makes a version of drifted lines: the hunk's old lines give way to its
// new ones, changed by fit as the drift has it.
func of(h hunk, list []item, fit ...func(string) string) version {
	var is, ideal []string
	v := version{first: len(list), last: -1}
	insert := func() {
		for _, l := range h.lines {
			for _, f := range fit {
				l = f(l)
			}
			ideal = append(ideal, l)
		}
	}
	for i, x := range list {
		if x.at == 0 && h.from == 0 {
			insert()
		}
		is = append(is, x.text)
		if x.at >= h.head() && x.at < h.tail() {
			v.first, v.last = min(v.first, i), max(v.last, i)
		}
		if x.at < h.from || x.at >= h.to {
			ideal = append(ideal, x.text)
		}
		if x.at == h.from-1 && x.at >= 0 {
			insert()
		}
	}
	v.text, v.ideal = strings.Join(is, "\n"), strings.Join(ideal, "\n")
	return v
}

func random(h hunk, seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(h.from))) }

func lineEnds(h hunk, seed uint64) (version, bool) {
	r, list := random(h, seed), items(h)
	for i := range list {
		switch l := list[i].text; {
		case strings.TrimSpace(l) != "" && r.IntN(3) == 0:
			list[i].text = l + strings.Repeat(" ", 1+r.IntN(3))
		case strings.TrimSpace(l) == "" && i < len(list)-1 && r.IntN(2) == 0:
			list[i].text = "\t"
		}
	}
	return of(h, list), true
}

func crlf(h hunk, _ uint64) (version, bool) {
	v := of(h, items(h))
	v.text, v.ideal = strings.ReplaceAll(v.text, "\n", "\r\n"), strings.ReplaceAll(v.ideal, "\n", "\r\n")
	return v, true
}

func each(h hunk, f func(string) string) (version, bool) {
	list := items(h)
	same := true
	for i := range list {
		list[i].text = f(list[i].text)
		same = same && (list[i].at < h.head() || list[i].at >= h.tail() || list[i].text == h.before[i])
	}
	return of(h, list, f), !same
}

func deeper(h hunk, _ uint64) (version, bool) {
	unit := "    "
	if strings.Contains(h.old(), "\n\t") {
		unit = "\t"
	}
	return each(h, func(l string) string {
		if strings.TrimSpace(l) == "" {
			return l
		}
		return unit + l
	})
}

func swapped(h hunk, _ uint64) (version, bool) {
	toSpaces := strings.Contains(h.old(), "\t")
	return each(h, func(l string) string {
		rest := strings.TrimLeft(l, " \t")
		indent := l[:len(l)-len(rest)]
		if toSpaces {
			return strings.ReplaceAll(indent, "\t", "    ") + rest
		}
		return strings.ReplaceAll(indent, "    ", "\t") + rest
	})
}

const around = 10 // lines that move, are copied or deleted with a hunk

func block(h hunk) (from, to int) {
	return max(0, h.head()-around), min(len(h.before)-1, h.tail()+around)
}

func moved(h hunk, seed uint64) (version, bool) {
	from, to := block(h)
	list := items(h)
	if from >= to || to-from >= len(list)-2 {
		return version{}, false
	}
	b := slices.Clone(list[from:to])
	rest := slices.Concat(list[:from], list[to:])
	at := random(h, seed).IntN(len(rest))
	return of(h, slices.Concat(rest[:at], b, rest[at:])), true
}

func neighbours(h hunk, seed uint64) (version, bool) {
	r, list := random(h, seed), items(h)
	var out []item
	for _, x := range list {
		near := x.at < h.head() && x.at >= h.head()-around || x.at >= h.tail() && x.at < h.tail()+around
		switch k := r.IntN(4); {
		case !near || x.at == len(list)-1:
			out = append(out, x)
		case k == 0: // deleted
		case k == 1:
			out = append(out, item{"// " + x.text, -1})
		case k == 2:
			out = append(out, x, item{x.text, -1})
		default:
			out = append(out, x)
		}
	}
	return of(h, out), true
}

// altered is a line with one word changed, as a person would.
func altered(l string, r *rand.Rand) string {
	words := strings.Fields(l)
	if len(words) == 0 {
		return "x" + l + "x"
	}
	w := words[r.IntN(len(words))]
	return strings.Replace(l, w, "x"+w+"x", 1)
}

func contextEdited(h hunk, seed uint64) (version, bool) {
	r, list := random(h, seed), items(h)
	var of0 []int
	for i := h.head(); i < h.tail(); i++ {
		if (i < h.from || i >= h.to) && strings.TrimSpace(list[i].text) != "" {
			of0 = append(of0, i)
		}
	}
	if len(of0) == 0 {
		return version{}, false
	}
	i := of0[r.IntN(len(of0))]
	list[i].text = altered(list[i].text, r)
	return of(h, list), true
}

// put inserts lines of nobody's outside of the hunk's region.
func put(h hunk, list, copied []item, r *rand.Rand) []item {
	for i := range copied {
		copied[i].at = -1
	}
	at := r.IntN(len(list))
	for at > h.head() && at < h.tail() {
		at = r.IntN(len(list))
	}
	return slices.Concat(list[:at], copied, list[at:])
}

func copied(h hunk, seed uint64) (version, bool) {
	if h.tail()-h.head() >= len(h.before)-1 {
		return version{}, false
	}
	list := items(h)
	v := of(h, put(h, list, slices.Clone(list[h.head():h.tail()]), random(h, seed)))
	if strings.Count(v.text, h.old()) < 2 {
		return v, false // the copy landed where it merged with what stands there
	}
	// A diff says at which line: whichever copy stands exactly there is meant.
	lines := strings.Split(v.text, "\n")
	v.ideal = ""
	if head := h.head(); strings.HasPrefix(strings.Join(lines[head:], "\n"), h.old()) {
		v.numbered = strings.Join(slices.Concat(lines[:head], strings.Split(h.with(), "\n"), lines[h.tail():]), "\n")
	}
	return v, true
}

// twin has the hunk's own place edited in one line of context, and a copy
// elsewhere edited in one line too: neither is exact, one is meant.
func twin(h hunk, seed uint64) (version, bool) {
	if h.tail()-h.head() < 4 || h.tail()-h.head() >= len(h.before)-1 {
		return version{}, false
	}
	r, list := random(h, seed), items(h)
	copied := slices.Clone(list[h.head():h.tail()])
	i := r.IntN(len(copied))
	for strings.TrimSpace(copied[i].text) == "" {
		i = (i + 1) % len(copied) // a text without newline that ends in a blank line is at any line's end
	}
	copied[i].text = altered(copied[i].text, r)
	k := h.head()
	if k == h.from {
		k = h.tail() - 1
	}
	if (k < h.from || k >= h.to) && strings.TrimSpace(list[k].text) != "" {
		list[k].text = altered(list[k].text, r)
	} else {
		return version{}, false
	}
	return of(h, put(h, list, copied, r)), true
}

func deleted(h hunk, _ uint64) (version, bool) {
	list := items(h)
	from, to := h.head(), min(h.tail(), len(list)-1)
	if to-from >= len(list)-2 || from >= to {
		return version{}, false
	}
	v := of(h, slices.Concat(list[:from], list[to:]))
	v.ideal, v.first, v.last = "", 0, -1
	return v, true
}

// revised is the file as it stood some commits away. What should come out is
// the three-way merge; where that has a conflict, the place alone is judged.
func revised(h hunk, list []string, seed uint64) (version, bool) {
	if len(list) == 0 {
		return version{}, false
	}
	before := strings.Join(h.before, "\n")
	v := version{text: list[random(h, seed).IntN(len(list))], revision: true}
	lines := strings.Split(v.text, "\n")
	v.first, v.last = len(lines), -1
	// Which line of the revision is which of the file before.
	i, k := 0, 0 // lines
	at := 0      // bytes of before
	same := func(until int) {
		for range strings.Count(before[at:until], "\n") {
			if i >= h.head() && i < h.tail() {
				v.first, v.last = min(v.first, k), max(v.last, k)
			}
			i, k = i+1, k+1
		}
	}
	for _, e := range text.Diff(before, v.text) {
		same(e.Start)
		// A changed stretch that touches the hunk's region is part of its image.
		n, m := strings.Count(before[e.Start:e.End], "\n"), strings.Count(e.New, "\n")
		if i < h.tail() && i+n > h.head() && m > 0 {
			v.first, v.last = min(v.first, k), max(v.last, k+m-1)
		}
		i, k, at = i+n, k+m, e.End
	}
	same(len(before))
	v.moved = v.first > v.last
	if merged, _, ok := text.Merge(before, v.text, h.after()); ok && merged != v.text {
		v.ideal = merged
	}
	return v, true
}

// apply makes the call. It gives the file afterwards and what was said.
func apply(ctx context.Context, h hunk, file, form string) (out, said string) {
	const name = "file.txt"
	args := map[string]any{"path": name}
	if form == "diff" {
		args["diff"] = h.diff()
	} else {
		args["edits"] = []map[string]string{{"oldText": h.old(), "newText": h.with()}}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings always encode
	}
	files := toolstest.New(map[string]string{name: file})
	res := tools.Edit().Run(ctx, tools.Env{Files: files, Output: func(string) {}}, raw)
	out, _ = files.Content(name)
	return out, res.Text
}

// diff is the hunk as a unified diff with its own line numbers.
func (h hunk) diff() string {
	var b strings.Builder
	head, tail := h.head(), h.tail()
	fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", head+1, tail-head, head+1, tail-head-(h.to-h.from)+len(h.lines))
	for _, part := range []struct {
		sign  string
		lines []string
	}{{" ", h.before[head:h.from]}, {"-", h.before[h.from:h.to]}, {"+", h.lines}, {" ", h.before[h.to:tail]}} {
		for _, l := range part.lines {
			b.WriteString(part.sign + l + "\n")
		}
	}
	return b.String()
}

// judge compares what came out with what should.
func (v version) judge(h hunk, out, form string) verdict {
	ideal := v.ideal
	if form == "diff" && v.numbered != "" {
		ideal = v.numbered
	}
	switch {
	case out == v.text:
		return refused
	case ideal != "" && plain(out) == plain(ideal):
		return right
	}
	if v.revision && strings.Count(v.text, h.old()) == 1 && plain(out) == plain(strings.Replace(v.text, h.old(), h.with(), 1)) {
		if v.moved {
			return right
		}
		return off // mostly the change is there already, and is made again
	}
	a, b := strings.Split(plain(v.text), "\n"), strings.Split(plain(out), "\n")
	// In the right place is what leaves everything outside of it as it was.
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b)) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if v.first <= v.last && head >= v.first && len(a)-tail <= v.last+1 {
		return off
	}
	return wrong
}

// plain leaves out the blanks at line ends.
func plain(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	return strings.Join(lines, "\n")
}

func unified(a, b string) string {
	if b == "" {
		return "(refused)"
	}
	d, _, _ := text.Unified("a", "b", a, b)
	return d
}
