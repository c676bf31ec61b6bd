package builtin

import (
	"math"
	"path"
	"regexp"
	"strings"
)

// A sentence of a comment, with where it begins.
type sentence struct {
	path     string
	n        int
	text     string
	scope    string
	score    float64
	coverage float64
}

const (
	sentenceMin  = 24  // characters; shorter ones explain nothing
	sentenceMax  = 420 // longer ones are cut
	sentenceOwn  = 0.3 // of the concepts' weight must be in the sentence itself
	sentenceBar  = 0.5 // of the concepts' weight must be in the sentence or its comment
	openSentence = 0.6 // a sentence whose end was not seen counts less
	commentLines = 60  // of one comment that are looked at
)

// explanation finds the comment sentence that says most about the question.
func explanation(q question, c *corpus, groups []group) (sentence, bool) {
	weights := c.weigh(q.concepts)
	total := 0.0
	for _, w := range weights {
		total += w
	}
	var best sentence
	for _, p := range sortedKeys(c.files) {
		if !q.steer.allows(p) || !within(p, q.scope) {
			continue
		}
		for _, para := range c.files[p].comments() {
			inScope := featuresOf(para.scope)
			whole := featuresOf(para.text())
			for i, s := range para.sentences {
				if len(s.text) < sentenceMin {
					continue
				}
				f := featuresOf(s.text)
				own, covered, words := 0.0, 0.0, 0
				for j, con := range q.concepts {
					m := con.match(f)
					if con.ident && lastName(para.scope) == con.raw {
						m = math.Max(m, weightOwnScope)
					}
					if m >= strengthPart {
						words++
					}
					own += weights[j] * m
					covered += weights[j] * maxOf(m, 0.75*con.match(inScope), 0.4*con.match(whole))
				}
				if q.target != "" && lastName(para.scope) == q.target && i == 0 {
					own, covered, words = own+2*total, total, 2
				}
				s.path, s.scope = p, para.scope
				s.coverage = covered / total
				s.score = (0.6*own + covered) * prior(p, q.aboutTests) * causal(q, s.text)
				if i == 0 {
					s.score *= 1.05
				}
				if !strings.ContainsAny(s.text[len(s.text)-1:], ".!?:") {
					s.score *= openSentence
				}
				if own >= sentenceOwn*total && (words >= 2 || len(q.concepts) == 1) && s.score > best.score {
					best = s
				}
			}
		}
	}
	best.text = clip(best.text, sentenceMax)
	return best, best.score > 0 && best.coverage >= sentenceBar
}

// causal prefers sentences that speak as the question asks.
func causal(q question, text string) float64 {
	low := strings.ToLower(text)
	var words []string
	switch q.form {
	case "why":
		words = []string{"because", "so that", "to avoid", "otherwise", "in order to", "since", "prevent", "reason", "workaround", "must"}
	case "how":
		words = []string{"if ", "then", "first", "by ", "wins", "precedence", "when"}
	}
	for _, w := range words {
		if strings.Contains(low, w) {
			return 1.15
		}
	}
	return 1
}

// A paragraph is one comment, cut into sentences.
type paragraph struct {
	scope     string
	sentences []sentence
}

func (p paragraph) text() string {
	var all []string
	for _, s := range p.sentences {
		all = append(all, s.text)
	}
	return strings.Join(all, " ")
}

var sentenceEnd = regexp.MustCompile(`[.!?:](?:\s|$)`)

// comments gathers the known comments of a file.
func (s *source) comments() []paragraph {
	var out []paragraph
	var para paragraph
	var open sentence
	prev, count := -2, 0
	flush := func() {
		if open.text != "" {
			para.sentences = append(para.sentences, open)
		}
		open = sentence{}
		if len(para.sentences) > 0 {
			out = append(out, para)
		}
		para, count = paragraph{}, 0
	}
	for _, n := range s.numbers() {
		text := s.lines[n]
		if path.Ext(s.path) == ".json" || !isComment(s.path, text) || strings.HasPrefix(strings.TrimSpace(text), "//go:") {
			flush()
			prev = -2
			continue
		}
		if n != prev+1 || count == commentLines {
			flush()
		}
		prev = n
		count++
		if d, ok := s.enclosing(n); ok {
			para.scope = d.String()
		}
		body := commentText(text)
		if body == "" { // a paragraph's end, still the same comment
			if open.text != "" {
				para.sentences = append(para.sentences, open)
				open = sentence{}
			}
			continue
		}
		for body != "" {
			m := sentenceEnd.FindStringIndex(body)
			end := len(body)
			if m != nil {
				end = m[0] + 1
			}
			if open.text == "" {
				open.n = n
			} else {
				open.text += " "
			}
			open.text += strings.TrimSpace(body[:end])
			body = strings.TrimSpace(body[end:])
			if m != nil {
				para.sentences = append(para.sentences, open)
				open = sentence{}
			}
		}
	}
	flush()
	return out
}

func maxOf(list ...float64) float64 {
	best := 0.0
	for _, v := range list {
		if v > best {
			best = v
		}
	}
	return best
}
