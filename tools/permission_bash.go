package tools

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// decideBash judges a command line: the verdict of its worst part.
func (p Policy) decideBash(line string) Decision {
	j := bashJudge{p: p, script: ParseShell(line), out: Decision{Verdict: Allow}, offer: true}
	j.bases = p.bases(j.script.Changes)
	j.free = p.allowsAll()
	for _, c := range j.script.Commands {
		j.command(c)
	}
	if !j.judged { // only cd, true and the like, or nothing that was understood
		j.commandRules(ShellCommand{Words: []ShellWord{{Text: strings.TrimSpace(line)}}})
	}
	if len(j.script.Opaque) > 0 && !j.free {
		j.add(Decision{Verdict: Ask, Why: "what it runs can't be known beforehand: " + j.script.Opaque[0]})
		j.offer = false
	}
	for _, w := range j.script.Writes {
		j.file("write", w)
	}
	for _, r := range j.script.Reads {
		j.file("read", r)
	}
	for _, dir := range j.bases {
		if !p.inside(dir, p.Roots) && !p.temporary(dir) {
			j.add(Decision{Verdict: Ask, Why: "it changes to " + path.Clean(dir) + ", outside the workspace"})
			j.offer = false
		}
	}
	if j.bases == nil && len(j.script.Changes) > 0 {
		j.add(Decision{Verdict: Ask, Why: "it changes to folders that can't be known"})
		j.offer = false
	}
	j.out.Network, j.out.Destructive = j.script.Network, j.script.Destroys != ""
	if j.out.Verdict == Ask && j.offer && !j.out.Destructive {
		j.out.Suggest = j.suggest
	}
	return j.out
}

type bashJudge struct {
	p       Policy
	script  ShellScript
	bases   []string // folders that a relative path may start from
	free    bool     // a rule allows every command and none restricts any
	judged  bool
	out     Decision
	offer   bool
	suggest []string
}

// add keeps the worst decision, the first of equals.
func (j *bashJudge) add(d Decision) {
	if j.out.Rule == "" && j.out.Why == "" || d.worse(j.out) {
		j.out.Verdict, j.out.Rule, j.out.Why = d.Verdict, d.Rule, d.Why
	}
}

// allowsAll says whether a rule without a pattern allows bash, and whether
// there is none with one that asks or denies.
func (p Policy) allowsAll() bool {
	rule, found := p.strongest(func(r Rule) bool { return r.tool.match("bash") && r.Pattern == "" })
	for _, r := range p.Rules {
		if r.Tool == "bash" && r.Pattern != "" && r.Verdict != Allow {
			return false
		}
	}
	return found && rule.Verdict == Allow
}

// basesMax bounds the folders that a line with several cd may be in.
const basesMax = 32

// bases gives every folder that some order of the line's cd may lead to; nil
// when there are too many to know.
func (p Policy) bases(changes []string) []string {
	if len(p.Roots) == 0 {
		return nil
	}
	bases := []string{path.Clean(p.Roots[0])}
	for _, dir := range changes {
		for _, b := range slices.Clone(bases) {
			to := b + "/" + dir
			switch {
			case strings.HasPrefix(dir, "/"):
				to = dir
			case dir == "~" || strings.HasPrefix(dir, "~/"):
				to = p.Home + dir[1:]
			case strings.HasPrefix(dir, "~"):
				return nil
			}
			if !slices.Contains(bases, to) {
				bases = append(bases, to)
			}
		}
		if len(bases) > basesMax {
			return nil
		}
	}
	return bases
}

func (j *bashJudge) command(c ShellCommand) {
	if c.Wrapper || c.Neutral {
		// It can be denied or asked about by name, but needs no permission.
		if rule, found := j.p.strongest(func(r Rule) bool { return r.Verdict != Allow && r.Pattern != "" && j.restricts(r, c) }); found {
			j.add(ruled(rule, c))
			j.offer, j.judged = j.offer && rule.Verdict == Ask, true
		}
		return
	}
	j.commandRules(c)
}

func (j *bashJudge) commandRules(c ShellCommand) {
	j.judged = true
	rule, found := j.p.strongest(func(r Rule) bool {
		return r.Verdict == Deny && (r.Tool == "bash" || r.tool.match("bash") && r.Pattern == "") && j.certainly(r, c)
	})
	if found {
		j.add(ruled(rule, c))
		j.offer = false
		return
	}
	rule, found = j.p.strongest(func(r Rule) bool {
		switch {
		case !r.tool.match("bash"):
			return false
		case r.Pattern == "":
			return true
		case r.Tool != "bash":
			return false
		case r.Verdict != Allow:
			return j.restricts(r, c)
		}
		return j.allows(r, c)
	})
	switch {
	case !found:
		j.add(Decision{Verdict: Ask, Why: "no rule allows " + clip(c.String(), titleMax)})
	case rule.Verdict == Deny: // words that aren't known may make it so
		j.add(Decision{Verdict: Ask, Rule: rule.String(), Why: "it may be what rule " + rule.String() + " is about"})
		j.offer = false
		return
	default:
		j.add(ruled(rule, c))
	}
	if found && rule.Verdict == Allow {
		return
	}
	s, ok := j.suggestion(c)
	if !ok || found && !stronger(s, rule) {
		j.offer = false
	} else if !slices.Contains(j.suggest, s.String()) {
		j.suggest = append(j.suggest, s.String())
	}
}

func ruled(rule Rule, c ShellCommand) Decision {
	d := Decision{Verdict: rule.Verdict, Rule: rule.String(), Why: "rule " + rule.String()}
	if rule.Pattern == "" && rule.Verdict == Ask {
		d.Why = "no rule allows " + clip(c.String(), titleMax)
	}
	return d
}

// allows says whether a rule covers a command in full.
func (j *bashJudge) allows(r Rule, c ShellCommand) bool {
	at := commandAt(c.Words)
	inert := at < len(c.Words) && slices.Contains(inertPrograms, c.Words[at].Text)
	outside := j.outside
	if at == len(c.Words) || !slices.Contains(readers, path.Base(c.Words[at].Text)) {
		outside = func(word string) bool { return j.outside(word) || j.guarded(word) }
	}
	return matchCommand(r.command, c.Words, coverage{risky: risky(c.Words, outside), dynamic: inert})
}

// restricts says whether a rule that asks or denies may be about a command,
// under whatever path or assignments its program is called.
func (j *bashJudge) restricts(r Rule, c ShellCommand) bool {
	return r.Pattern == "" && r.tool.match("bash") || r.Tool == "bash" && anyForm(r, c, coverage{loose: true})
}

// certainly says that it is.
func (j *bashJudge) certainly(r Rule, c ShellCommand) bool {
	return r.Pattern == "" || anyForm(r, c, coverage{dynamic: true})
}

func anyForm(r Rule, c ShellCommand, cov coverage) bool {
	if matchCommand(r.command, c.Words, cov) {
		return true
	}
	at := commandAt(c.Words)
	if at == len(c.Words) {
		return false
	}
	bare := slices.Clone(c.Words[at:])
	if matchCommand(r.command, bare, cov) {
		return true
	}
	bare[0].Text = path.Base(bare[0].Text)
	return matchCommand(r.command, bare, cov)
}

// suggestion is the rule that "always" would save for a command. It is offered
// only if it would allow the command next time.
func (j *bashJudge) suggestion(c ShellCommand) (Rule, bool) {
	pattern := c.Suggest()
	for range 2 {
		if pattern == "" {
			return Rule{}, false
		}
		r, err := NewRule("bash("+pattern+")", string(Allow), SourceAnswer)
		if err != nil {
			return Rule{}, false
		}
		if r.Pattern != "" && j.allows(r, c) {
			return r, true
		}
		pattern = c.exact()
	}
	return Rule{}, false
}

// exact is the pattern for this very command, "" where it wouldn't come again.
func (c ShellCommand) exact() string {
	for _, w := range c.Words {
		if w.Kind != WordLiteral || mayBeSecret(w.Text) {
			return ""
		}
	}
	if isDangerous(c) || passing(c) {
		return ""
	}
	return c.String()
}

// file judges a redirection as the write or read that it is.
func (j *bashJudge) file(tool, name string) {
	if j.device(name) {
		return
	}
	places, known := j.places(name)
	if !known || len(places) == 0 {
		places = []string{name}
	}
	var worst Decision
	for _, abs := range places {
		t := Target{Path: abs, Abs: abs, Secret: SecretPath(abs), Outside: true}
		if rel, ok := j.relative(abs); ok && known {
			t.Path, t.Outside = rel, false
		}
		if known && tool == "write" && j.p.temporary(abs) {
			continue
		}
		if d := j.p.decideTarget(tool, t); worst.Verdict == "" || d.worse(worst) {
			worst = d
		}
	}
	if worst.Verdict == "" {
		return
	}
	if worst.Verdict != Allow {
		worst.Why = fmt.Sprintf("it %ss %s: %s", tool, name, worst.Why)
		j.offer = false
	}
	j.add(Decision{Verdict: worst.Verdict, Rule: worst.Rule, Why: worst.Why})
}

// relative gives a path below the workspace's root, links resolved.
func (j *bashJudge) relative(abs string) (string, bool) {
	if j.p.Resolve != nil {
		abs = j.p.Resolve(abs)
	}
	abs = path.Clean(abs)
	for _, root := range j.p.Roots {
		if rel, ok := strings.CutPrefix(abs, strings.TrimSuffix(path.Clean(root), "/")+"/"); ok {
			return rel, true
		}
	}
	return "", false
}

// devices that anybody may write and read.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr"}

func (j *bashJudge) device(name string) bool {
	return slices.Contains(devices, name) || strings.HasPrefix(name, "/dev/fd/") && strings.Trim(name[len("/dev/fd/"):], "0123456789") == ""
}

// outside says whether a word is a path that needs permission: outside the
// workspace and temporary folders, or one that looks secret.
func (j *bashJudge) outside(word string) bool {
	return mayBeSecret(word) || j.leaves(word)
}

// guarded says whether a word is a path that other programs obey, or a glob that
// may be one.
func (j *bashJudge) guarded(word string) bool {
	places, _ := j.places(word)
	for _, abs := range places {
		if rel, ok := j.relative(abs); ok && text.Guarded(rel) {
			return true
		}
	}
	for part := range strings.SplitSeq(word, "/") {
		if strings.HasPrefix(part, ".") && strings.ContainsAny(part, "*?[") {
			return true
		}
	}
	return false
}

// leaves says whether a word is a path outside.
func (j *bashJudge) leaves(word string) bool {
	if j.device(word) || strings.Contains(word, "://") && !strings.HasPrefix(word, "file:") {
		return false
	}
	places, known := j.places(word)
	for _, abs := range places {
		if !j.p.inside(abs, j.p.Roots) && !j.p.temporary(abs) {
			return true
		}
	}
	return !known || strings.HasPrefix(word, "file:")
}

// places gives the absolute paths that a word may stand for, one for each
// folder that the line may be in; not known when that can't be said.
func (j *bashJudge) places(word string) (abs []string, known bool) {
	switch {
	case strings.HasPrefix(word, "/"):
		return []string{word}, true
	case word == "~" || strings.HasPrefix(word, "~/"):
		return []string{j.p.Home + word[1:]}, j.p.Home != ""
	case strings.HasPrefix(word, "~"):
		return nil, false
	case len(j.bases) == 0:
		return nil, len(j.p.Roots) == 0 && len(j.script.Changes) == 0 && !strings.Contains(word, "..")
	}
	for _, b := range j.bases {
		abs = append(abs, b+"/"+word)
	}
	return abs, true
}
