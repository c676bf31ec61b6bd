package builtin

import (
	"math"
	"regexp"
	"sort"
	"strings"
)

// A scored line is one line and how much it says about the question.
type scored struct {
	line
	score float64
	own   float64 // by its own words alone
	cover int     // bits: which concepts the line, its surroundings and its definition's name speak of
	here  int     // bits of its own
	scope scopeName
	def   bool // the line is a definition
	note  bool // the line is a comment
}

// A question is what the ranking needs to know of an ask.
type question struct {
	form       string
	concepts   []concept
	aboutTests bool
	scope      []string
	steer      narrow
	target     string // the one name that the question is about, "" if none
	owner      string // its type or package, where the question says it
	uses       bool   // where something is applied, set, handled: uses before declarations
}

// The weights of the ranking. They were set on the tuning part of the question
// table (testdata/questions.txt) and checked on the held-out part.
const (
	weightNear       = 0.38 // words within nearLines of the line
	weightScope      = 0.55 // words of the enclosing definition's name
	weightPath       = 0.15 // words of the file's path
	weightOwnScope   = 0.9  // the definition is the very thing that the question names
	nearLines        = 3
	bonusDefinition  = 1.15
	bonusNamedDef    = 0.4 // on top, for the share of its name's words that the question speaks of
	bonusUse         = 1.3 // a compound name used, where the question asks for uses
	penaltyDeclared  = 0.7
	bonusComment     = 1.2
	penaltyComment   = 0.75
	penaltyBare      = 0.6 // few words besides the matched ones: braces, imports
	bonusCalled      = 1.3 // a definition that the best lines call
	calledTop        = 8
	conceptsBits     = 30
	coverageExponent = 2.0
)

// rank scores every known line, best first. Ties end in path and line.
func (c *corpus) rank(q question) []scored {
	weights := c.weigh(q.concepts)
	total := 0.0
	for _, w := range weights {
		total += w
	}
	var out []scored
	for _, p := range sortedKeys(c.files) {
		if !q.steer.allows(p) || !within(p, q.scope) {
			continue
		}
		out = append(out, c.files[p].rank(q, weights, total, prior(p, q.aboutTests))...)
	}
	order(out)
	if called := called(out, q); len(called) > 0 {
		for i := range out {
			if out[i].def && called[out[i].scope.name] {
				out[i].score *= bonusCalled
			}
		}
		order(out)
	}
	return out
}

// called are the names, near to the question by their own words, that the best
// lines of code call: what the best place calls may be where it happens.
func called(ranked []scored, q question) map[string]bool {
	out := map[string]bool{}
	for i, s := range ranked {
		if i == calledTop {
			break
		}
		if s.note || isTest(s.path) && !q.aboutTests {
			continue
		}
		for _, m := range callForm.FindAllStringSubmatch(s.text, -1) {
			if s.def && m[1] == s.scope.name {
				continue
			}
			f, hits := featuresOf(m[1]), 0
			for _, c := range q.concepts {
				if c.match(f) >= strengthSynonym {
					hits++
				}
			}
			if hits >= 2 {
				out[m[1]] = true
			}
		}
	}
	return out
}

var boiler = regexp.MustCompile(`^(?:package \w+|import\b.*|\s*"[\w./-]+"|(?:from|use|require|#include)\b.*)$`)

var callForm = regexp.MustCompile(`([\p{L}_][\p{L}\d_]*)\(`)

// order sorts best first; ties end in path and line.
func order(out []scored) {
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.score != b.score {
			return a.score > b.score
		}
		if a.path != b.path {
			return a.path < b.path
		}
		return a.n < b.n
	})
}

// weigh gives a concept less weight the more of the known lines speak of it.
func (c *corpus) weigh(cs []concept) []float64 {
	weights := make([]float64, len(cs))
	seen := make([]int, len(cs))
	all := 0
	for _, p := range sortedKeys(c.files) {
		s := c.files[p]
		for _, n := range s.numbers() {
			all++
			f := s.features(n)
			for i, con := range cs {
				if con.match(f) >= strengthSynonym {
					seen[i]++
				}
			}
		}
	}
	best := 0.0
	idf := make([]float64, len(cs))
	for i := range cs {
		idf[i] = math.Log(1 + float64(all+1)/float64(seen[i]+1))
		best = math.Max(best, idf[i])
	}
	for i, con := range cs {
		w := con.weight
		if all >= 50 && best > 0 && !con.ident {
			w *= math.Max(idfFloor, idf[i]/best)
		}
		weights[i] = w
	}
	return weights
}

func (s *source) rank(q question, weights []float64, total, prior float64) []scored {
	nums := s.numbers()
	match := make([][]float64, len(nums))
	for i, n := range nums {
		f := s.features(n)
		match[i] = make([]float64, len(q.concepts))
		for j, con := range q.concepts {
			match[i][j] = con.match(f)
		}
	}
	var out []scored
	inPath := featuresOf(s.path)
	for i, n := range nums {
		text := s.lines[n]
		if !informative(text) {
			continue
		}
		sc := scored{line: line{s.path, n, text}, note: isComment(s.path, text)}
		_, _, sc.def = definition(s.path, text)
		var inScope features
		if d, ok := s.enclosing(n); ok {
			sc.scope = d
			inScope = featuresOf(d.name + " " + d.receiver)
		}
		score, covered := 0.0, 0.0
		for j, con := range q.concepts {
			own := match[i][j]
			near := 0.0
			for k := i - 1; k >= 0 && nums[k] >= n-nearLines; k-- {
				near = math.Max(near, match[k][j])
			}
			for k := i + 1; k < len(nums) && nums[k] <= n+nearLines; k++ {
				near = math.Max(near, match[k][j])
			}
			around := 0.0
			scopeShare := weightScope
			if inScope.stems != nil {
				around = con.match(inScope)
				if con.ident && sc.scope.name == con.raw {
					scopeShare = weightOwnScope
				}
			}
			pathHas := con.match(inPath)
			v := math.Max(math.Max(own, weightPath*pathHas), math.Max(weightNear*near, scopeShare*around))
			if own > 0 {
				sc.own += weights[j] * own
			}
			score += weights[j] * v
			covered += weights[j] * math.Max(own, math.Max(0.8*near, 0.9*around))
			if j < conceptsBits {
				if own >= strengthPart {
					sc.here |= 1 << j
				}
				if own >= strengthPart || near >= strengthSynonym || around >= strengthSynonym || pathHas >= strengthPrefix {
					sc.cover |= 1 << j
				}
			}
		}
		if sc.own == 0 {
			continue
		}
		if total > 0 {
			score *= math.Pow(covered/total, coverageExponent-1)
		}
		sc.score = score * prior * s.fit(q, sc)
		out = append(out, sc)
	}
	return out
}

// fit is how well a line's kind suits the kind of question.
func (s *source) fit(q question, sc scored) float64 {
	w := 1.0
	bits := popcount(sc.here)
	if sc.def && !q.uses {
		w *= bonusDefinition
		if bits >= 2 || bits >= len(q.concepts) {
			w *= 1 + bonusNamedDef*q.purity(sc.scope.name)
		}
	}
	if q.target != "" && sc.scope.name == q.target && (q.form == "what" || q.form == "definition") {
		if sc.def {
			w *= 3
		}
		w *= q.owned(sc)
	}
	switch q.form {
	case "how", "why", "what", "which", "whether":
		if sc.note {
			w *= bonusComment
		}
	case "where", "find", "definition":
		if sc.note {
			w *= penaltyComment
		}
		if q.uses && !sc.note {
			if declares(sc.text) {
				w *= penaltyDeclared
			} else if bits >= 2 && !sc.def {
				w *= bonusUse
			}
		}
	}
	if len(sc.text) < 12 || boiler.MatchString(sc.text) {
		w *= penaltyBare
	}
	return w
}

// purity is the share of a name's words that the question speaks of: LookPath
// answers "where is the path looked up" better than validateLookPath.
func (q question) purity(name string) float64 {
	ps := parts(name)
	hit := 0
	for _, p := range ps {
		f := featuresOf(p)
		for _, c := range q.concepts {
			if c.match(f) >= strengthPart {
				hit++
				break
			}
		}
	}
	return float64(hit) / float64(max2(1, len(ps)))
}

// owned prefers the definition that the question's qualifier means, and
// functions over methods where it has none.
func (q question) owned(sc scored) float64 {
	recv := strings.Trim(sc.scope.receiver, "*")
	switch {
	case q.owner == "" && recv == "":
		return 1.3
	case q.owner == "", recv == q.owner, recv == "" && strings.Contains("/"+sc.path, "/"+q.owner):
		return 1
	case recv == "":
		return 0.9
	}
	return 0.3
}

// declares says whether a line only declares a field, a variable or an import.
func declares(text string) bool {
	t := strings.TrimSpace(text)
	if i := strings.Index(t, " //"); i > 0 {
		t = strings.TrimSpace(t[:i])
	}
	if strings.ContainsAny(t, "(=") && !strings.HasPrefix(t, "import") {
		return false
	}
	f := strings.Fields(t)
	return len(f) > 0 && len(f) <= 4 && !strings.HasSuffix(t, "{") && !strings.HasPrefix(t, "return") && !strings.HasPrefix(t, "//")
}

func informative(text string) bool {
	for _, r := range text {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127 {
			return true
		}
	}
	return false
}

func popcount(bits int) int {
	n := 0
	for ; bits != 0; bits &= bits - 1 {
		n++
	}
	return n
}

// A window is a stretch of a file that is worth reading whole.
type window struct {
	path     string
	from, to int
	score    float64 // of all its lines
	peak     float64 // of the best one
}

const (
	windowReach  = 24 // lines that are read on each side of a good line
	windowMax    = 80 // lines of one read
	windowTop    = 120
	bonusUnknown = 1.5  // for lines whose definition was not seen yet
	windowShare  = 0.35 // of the best stretch's score; what is below is not read
)

// windows groups the best lines into stretches, best first.
func windows(ranked []scored, max int) []window {
	var out []window
	for i, s := range ranked {
		if i == windowTop {
			break
		}
		if s.scope.name == "" { // what it stands in may yet speak for it
			s.score *= bonusUnknown
		}
		placed := false
		for j := range out {
			w := &out[j]
			if w.path == s.path && s.n >= w.from-windowReach && s.n <= w.to+windowReach {
				from, to := min(w.from, s.n), max2(w.to, s.n)
				if to-from <= windowMax-2*windowReach+16 {
					w.from, w.to = from, to
				}
				w.score += s.score * 0.15
				w.peak = math.Max(w.peak, s.score)
				placed = true
				break
			}
		}
		if !placed {
			out = append(out, window{s.path, s.n, s.n, s.score, s.score})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].score > out[j].score })
	if len(out) > max {
		out = out[:max]
	}
	return out
}

func max2(a, b int) int {
	if a > b {
		return a
	}
	return b
}
