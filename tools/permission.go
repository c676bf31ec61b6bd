package tools

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// Policy is what a session permits. It is a value: Decide reads it and changes
// nothing, so the same policy and request always give the same decision.
type Policy struct {
	Rules    []Rule   // those of Defaults first; see With
	Planning bool     // nothing that writes or runs is done at all
	Trusted  bool     // the person trusts the workspace
	Roots    []string // absolute paths of the workspace's folders
	Temp     []string // absolute paths where anything may be written; one with a root below it doesn't count
	Home     string   // what ~ stands for
	// Resolve follows symbolic links in an absolute path as far as it exists;
	// nil judges paths as they are written.
	Resolve func(string) string
}

// Request is one call that wants permission.
type Request struct {
	Tool     string
	ReadOnly bool     // as the tool's Spec says
	Builtin  bool     // the tool is ours, so that ReadOnly can be believed
	Targets  []Target // files and folders, for the tools that take a path
	Command  string   // for bash
	Subject  string   // what any other tool is about, for its rules
}

// Target is a path that a call is about.
type Target struct {
	Path    string // workspace-relative; absolute when Outside
	Abs     string // absolute, links resolved
	Outside bool   // of every root
	Secret  bool   // looks like a credential
	Ignored bool   // by the ignore rules
}

// Decision is the answer to a Request.
type Decision struct {
	Verdict     Verdict
	Rule        string   // the rule that decided, "" when none did
	Why         string   // one sentence for the person and the model
	Suggest     []string // the exact rules that "always" would save; empty where it isn't offered
	Network     bool     // the call needs the network
	Destructive bool     // it may destroy what can't be had back
}

// Defaults are the rules that hold where nobody said otherwise.
func Defaults() []Rule {
	list := []string{
		"ls = allow", "read = allow", "grep = allow", "find = allow", "search = allow", "symbols = allow", "references = allow",
		"diagnostics = allow",
		"scratchpad = allow", "todo = allow", "task = allow", "skill = allow", "write = allow", "edit = allow", "bash = ask", "fetch = ask",
	}
	// What is run or obeyed by other programs later, or by us.
	guarded := []string{"**/.git/**", "**/.git", "**/*" + text.SettingsEnding}
	for _, name := range text.SettingsFolders {
		guarded = append(guarded, "**/"+name+"/**")
	}
	for _, name := range text.SettingsFiles {
		guarded = append(guarded, "**/"+name)
	}
	for _, glob := range guarded {
		list = append(list, "write("+glob+") = ask", "edit("+glob+") = ask")
	}
	var rules []Rule
	for _, s := range list {
		r, err := ParseRule(s, SourceDefault)
		if err != nil {
			panic(err) // a mistake in the list above
		}
		rules = append(rules, r)
	}
	return rules
}

// With gives a policy with more rules.
func (p Policy) With(rules ...Rule) Policy {
	p.Rules = append(slices.Clone(p.Rules), rules...)
	if len(p.Rules) > RulesMax {
		p.Rules = p.Rules[len(p.Rules)-RulesMax:]
	}
	return p
}

// Decide judges a request. It is pure but for Policy.Resolve.
func Decide(p Policy, r Request) Decision {
	if p.Planning && !(r.ReadOnly && r.Builtin) {
		return Decision{Verdict: Deny, Why: r.Tool + " writes or runs, and this session is planning; switch to executing first"}
	}
	switch {
	case r.Tool == "bash":
		return p.decideBash(r.Command)
	case len(r.Targets) > 0:
		var worst Decision
		for i, t := range r.Targets {
			d := p.decideTarget(r.Tool, t)
			if i == 0 || d.worse(worst) {
				worst = d
			}
		}
		return worst
	}
	return p.decideOther(r)
}

func (d Decision) worse(than Decision) bool { return severity(d.Verdict) > severity(than.Verdict) }

func severity(v Verdict) int { return slices.Index([]Verdict{Allow, Ask, Deny}, v) }

// counts leaves out rules that an untrusted workspace makes void: its own that
// allow, and those that would let anything run.
func (p Policy) counts(r Rule) bool {
	switch {
	case p.Trusted || r.Verdict != Allow:
		return true
	case r.Source == SourceWorkspace:
		return false
	}
	return r.Source != SourceUser || isFileTool(r.Tool)
}

// strongest gives the rule that decides among those that match: deny wins,
// then the most specific, then the later source, then the stricter verdict.
func (p Policy) strongest(match func(Rule) bool) (best Rule, found bool) {
	for _, r := range p.Rules {
		if !p.counts(r) || !match(r) {
			continue
		}
		if !found || stronger(r, best) {
			best, found = r, true
		}
	}
	return best, found
}

func stronger(a, b Rule) bool {
	if (a.Verdict == Deny) != (b.Verdict == Deny) {
		return a.Verdict == Deny
	}
	return cmp.Or(
		cmp.Compare(a.specificity(), b.specificity()),
		cmp.Compare(a.Source, b.Source),
		cmp.Compare(severity(a.Verdict), severity(b.Verdict)),
	) > 0
}

// decideTarget judges a file tool's path.
func (p Policy) decideTarget(tool string, t Target) Decision {
	rule, found := p.strongest(func(r Rule) bool {
		return r.tool.match(tool) && p.covers(r, t)
	})
	if !found {
		d := Decision{Verdict: Ask, Why: t.why(tool)}
		if s, err := NewRule(tool+"("+globQuote(t.pattern())+")", string(Allow), SourceAnswer); err == nil && p.covers(s, t) {
			d.Suggest = []string{s.String()}
		}
		return d
	}
	d := Decision{Verdict: rule.Verdict, Rule: rule.String(), Why: "rule " + rule.String()}
	if rule.Verdict == Ask {
		if s, err := NewRule(tool+"("+globQuote(t.pattern())+")", string(Allow), SourceAnswer); err == nil && stronger(s, rule) {
			d.Suggest = []string{s.String()}
		}
	}
	return d
}

func (t Target) pattern() string {
	if t.Outside {
		return cmp.Or(t.Abs, t.Path)
	}
	return "/" + t.Path
}

func (t Target) why(tool string) string {
	switch {
	case t.Outside:
		return t.Path + " is outside the workspace"
	case t.Secret:
		return t.Path + " looks like a secret"
	case t.Ignored:
		return t.Path + " is ignored by the ignore rules"
	}
	return "no rule allows " + tool + " " + t.Path
}

// covers says whether a rule is about a target. Rules that restrict are about
// all that they match; one that allows must name what is out of the ordinary.
func (p Policy) covers(r Rule, t Target) bool {
	if !p.matches(r, t) {
		return false
	}
	if r.Verdict != Allow {
		return true
	}
	absolute := r.home || strings.HasPrefix(r.Pattern, "/")
	bare := strings.NewReplacer("*", "", "?", "", "\\", "").Replace(r.Pattern)
	switch {
	case t.Outside && !absolute:
		return false
	case t.Secret && !SecretPath(bare):
		return false
	case t.Ignored && strings.Trim(bare, "/.") == "":
		return false
	}
	return true
}

func (p Policy) matches(r Rule, t Target) bool {
	switch {
	case r.Pattern == "":
		return true
	case r.home:
		below, ok := strings.CutPrefix(t.Abs, strings.TrimSuffix(p.Home, "/")+"/")
		return ok && p.Home != "" && r.glob.Match(below)
	case !strings.HasPrefix(r.Pattern, "/"):
		return (!t.Outside || r.Verdict != Allow) && r.glob.Match(t.Path)
	case t.Outside:
		return r.glob.Match(cmp.Or(t.Abs, t.Path))
	}
	// Inside, a leading slash means the workspace's root, as in ignore files,
	// or the file's absolute path.
	return r.glob.Match(t.Path) || t.Abs != "" && r.glob.Match(t.Abs)
}

func globQuote(s string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`, "}", `\}`, "\\", `\\`).Replace(s)
}

// decideOther judges a tool that is about neither files nor commands.
func (p Policy) decideOther(r Request) Decision {
	rule, found := p.strongest(func(rule Rule) bool {
		return rule.tool.match(r.Tool) && (rule.Pattern == "" || rule.Tool != "bash" && len(rule.command) == 1 && rule.command[0].match(r.Subject))
	})
	if found && rule.Verdict != Ask {
		return Decision{Verdict: rule.Verdict, Rule: rule.String(), Why: "rule " + rule.String()}
	}
	d := Decision{Verdict: Ask, Why: "no rule allows " + r.Tool}
	call := r.Tool
	if r.Subject != "" {
		d.Why += " " + clip(r.Subject, titleMax)
		call += "(" + r.Subject + ")"
	}
	if found {
		d.Rule = rule.String()
	}
	s, err := NewRule(call, string(Allow), SourceAnswer)
	if err == nil && !strings.Contains(r.Subject, "*") && s.String() == call+" = allow" && (!found || stronger(s, rule)) {
		d.Suggest = []string{s.String()}
	}
	return d
}

// temporary says whether an absolute path is in a temporary folder. A folder
// that holds the workspace itself is none: what lies beside the workspace is
// somebody's.
func (p Policy) temporary(abs string) bool {
	var folders []string
	for _, t := range p.Temp {
		if !slices.ContainsFunc(p.Roots, func(root string) bool { return p.inside(root, []string{t}) }) {
			folders = append(folders, t)
		}
	}
	return p.inside(abs, folders)
}

// inside says whether an absolute path is in one of the folders.
func (p Policy) inside(abs string, folders []string) bool {
	if p.Resolve != nil {
		abs = p.Resolve(abs)
	}
	abs = path.Clean(abs)
	for _, f := range folders {
		f = path.Clean(f)
		if abs == f || strings.HasPrefix(abs, strings.TrimSuffix(f, "/")+"/") {
			return true
		}
	}
	return false
}
