package builtin

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// A group is the evidence of one definition (or of one stretch outside any).
type group struct {
	path  string
	scope scopeName
	lines []scored
	score float64
	cover int
}

// The bars below which a line is no evidence.
const (
	groupLines     = 3    // citations of one definition
	groupShare     = 0.62 // of the definition's best line
	answerShare    = 0.42 // of the whole answer's best group
	answerShareLow = 0.2  // where that leaves fewer than citationsFew lines
	citationsFew   = 4
	groupDecay     = 0.25
	groupNotes     = 2 // comment lines among a definition's citations
)

// grouped gathers ranked lines by the definition that they belong to.
func grouped(ranked []scored) []group {
	index := map[string]int{}
	var out []group
	for _, s := range ranked {
		key := fmt.Sprintf("%s|%s|%d", s.path, s.scope, s.scope.line)
		if s.scope.name == "" {
			key = fmt.Sprintf("%s||%d", s.path, s.n/20)
		}
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, group{path: s.path, scope: s.scope})
		}
		g := &out[i]
		if len(g.lines) < 12 {
			g.lines = append(g.lines, s)
		}
		g.cover |= s.cover
	}
	for i := range out {
		g := &out[i]
		decay := 1.0
		for _, s := range g.lines {
			g.score += s.score * decay
			decay *= groupDecay
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].score > out[j].score })
	return out
}

// steered keeps to the groups that speak of what the person narrowed the
// question to, if there are any.
func steered(groups []group, q question) []group {
	wanted := 0
	for i, c := range q.concepts {
		if i < conceptsBits && contains(q.steer.words, c.raw) {
			wanted |= 1 << i
		}
	}
	var kept []group
	for _, g := range groups {
		if g.cover&wanted != 0 {
			kept = append(kept, g)
		}
	}
	if wanted == 0 || len(kept) == 0 {
		return groups
	}
	return kept
}

// cite picks the lines of the answer: the best lines of the best groups, at
// most citationsMax, never the same text twice. A group whose definition's name
// speaks of the question is opened by the definition itself.
func cite(groups []group, q question, c *corpus) []scored {
	out := citeDownTo(groups, q, c, answerShare)
	if len(out) < citationsFew {
		out = citeDownTo(groups, q, c, answerShareLow)
	}
	return out
}

func citeDownTo(groups []group, q question, c *corpus, share float64) []scored {
	var out []scored
	seen := map[string]bool{}
	for gi, g := range groups {
		if gi > 0 && g.score < groups[0].score*share || len(out) == citationsMax {
			break
		}
		lines := append([]scored(nil), g.lines...)
		limit := groupLines - 1
		if gi == 0 {
			limit = groupLines
		}
		if d, ok := g.definition(q, c); ok {
			lines = append([]scored{d}, lines...)
			limit++
		}
		taken, notes := 0, 0
		for _, s := range lines {
			text := strings.TrimSpace(s.text)
			if taken == limit || len(out) == citationsMax {
				break
			}
			if s.score < g.lines[0].score*groupShare && !s.def || seen[text] || s.note && notes == groupNotes {
				continue
			}
			if s.note {
				notes++
			}
			seen[text] = true
			out = append(out, s)
			taken++
		}
	}
	return out
}

// definition is the line that defines the group, if it was seen and its name
// has to do with the question.
func (g group) definition(q question, c *corpus) (scored, bool) {
	if g.scope.line == 0 || q.form == "uses" || q.uses && !g.lines[0].note && !g.lines[0].def {
		return scored{}, false
	}
	f := featuresOf(g.scope.name)
	for _, con := range q.concepts {
		if con.match(f) >= strengthSynonym {
			text := c.file(g.path).lines[g.scope.line]
			return scored{line: line{g.path, g.scope.line, text}, scope: g.scope, def: true, score: g.lines[0].score}, true
		}
	}
	return scored{}, false
}

// answer writes what the evidence says.
func answer(it intent, q question, c *corpus, failed []string) string {
	ranked := c.rank(q)
	groups := steered(grouped(ranked), q)
	cites := cite(groups, q, c)
	if len(cites) == 0 {
		return nothingFound(it, q, failed)
	}
	var b strings.Builder
	quote, quoted := explanation(q, c, groups)
	b.WriteString(lead(it, q, groups[0], cites[0], quote, quoted))
	b.WriteString("\n\n")
	for _, s := range cites {
		b.WriteString(citation(s))
	}
	if missing := uncovered(q, groups); len(missing) > 0 {
		b.WriteString("\nThe evidence is thin: I found nothing here about " + joinAnd(quoteAll(missing)) + ".")
		if len(failed) > 0 {
			b.WriteString(" " + strings.Join(failed, "; ") + ".")
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// citation is one line of evidence: where, what stands there, in what.
func citation(s scored) string {
	text := clip(strings.TrimSpace(s.text), lineMax)
	out := fmt.Sprintf("- %s:%d — `%s`", s.path, s.n, strings.ReplaceAll(text, "`", "'"))
	if s.scope.name != "" && !s.def {
		if s.note && s.scope.line > s.n {
			out += " (comment on " + s.scope.String() + ")"
		} else {
			out += " (in " + s.scope.String() + ")"
		}
	}
	return out + "\n"
}

// lead is the direct first sentence.
func lead(it intent, q question, g group, best scored, quote sentence, quoted bool) string {
	at := fmt.Sprintf("%s:%d", best.path, best.n)
	in := at
	if g.scope.name != "" {
		in = fmt.Sprintf("`%s` (%s)", g.scope, at)
	}
	switch q.form {
	case "definition":
		if best.def {
			return fmt.Sprintf("`%s` is defined at %s.", q.target, at)
		}
		return fmt.Sprintf("I found no definition of `%s`; the nearest mention is %s.", q.target, in)
	case "where", "find":
		if s := statement(it.subject); s != "" && q.form == "where" {
			return s + " in " + in + "." + because(quote, quoted, q)
		}
		return "The best match is " + in + "." + because(quote, quoted, q)
	}
	if quoted {
		return quote.text + "\n(" + fmt.Sprintf("from the comment at %s:%d", quote.path, quote.n) + commentOn(quote, g) + ")"
	}
	if q.form == "what" && best.def && q.target != "" {
		return fmt.Sprintf("`%s` is defined at %s; no comment explains it.", q.target, at)
	}
	return "The code that bears most on this is " + in + "; no comment near it puts the answer in words, so read these lines:"
}

func commentOn(s sentence, g group) string {
	if g.scope.name != "" && (g.path != s.path || s.scope != g.scope.String()) {
		best := g.lines[0]
		return fmt.Sprintf("; the code is `%s` at %s:%d", g.scope, best.path, best.n)
	}
	return ""
}

// because adds the comment's own words where they say enough.
func because(s sentence, ok bool, q question) string {
	if !ok || s.coverage < 0.6 {
		return ""
	}
	return fmt.Sprintf(" The comment at %s:%d says: %s", s.path, s.n, s.text)
}

var beWord = regexp.MustCompile(`(?i)^(is|are|was|were)\s+(.+?)\s+((?:\w+ly\s+)?(?:[a-z]+(?:ed|tten|osen|ken|own)|set|read|built|kept|held|put|sent|done|made|found|run|split|cut|bound|told|lost|hit|caught)(?:\s+(?:by|from|in|into|to|for|when|while|during|on|onto|at|with|after|before|as|if|out|up|off|down|between|through|against|and|or)\b.*)?)$`)

// statement turns "is the timeout of a Transport applied" round: "The timeout
// of a Transport is applied". "" where the grammar is not that simple.
func statement(s string) string {
	m := beWord.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil || len(s) > 140 {
		return ""
	}
	subject := m[2]
	return strings.ToUpper(subject[:1]) + subject[1:] + " " + strings.ToLower(m[1]) + " " + m[3]
}

// uncovered lists the weighty concepts that no cited group speaks of.
func uncovered(q question, groups []group) []string {
	cover, total, have := 0, 0.0, 0.0
	for i, g := range groups {
		if i == 4 {
			break
		}
		cover |= g.cover
	}
	var missing []string
	for i, c := range q.concepts {
		if i >= conceptsBits {
			break
		}
		if c.weight <= weightVague {
			continue
		}
		total += c.weight
		if cover&(1<<i) != 0 {
			have += c.weight
			continue
		}
		missing = append(missing, c.raw)
	}
	if total == 0 || have/total > 0.75 {
		return nil
	}
	return missing
}

func nothingFound(it intent, q question, failed []string) string {
	var words []string
	for _, c := range q.concepts {
		words = append(words, c.raw)
	}
	text := "I found nothing about " + joinAnd(quoteAll(words))
	if len(q.scope) > 0 {
		text += " in " + joinAnd(quoteAll(q.scope))
	}
	text += "."
	if len(failed) > 0 {
		text += " " + strings.Join(failed, "; ") + "."
	}
	return text + " A name from the code, a file (`@path`) or other words may lead further."
}
