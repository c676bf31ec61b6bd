package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Locate makes Targets of paths as the model writes them. The engine's own may
// know the ignore rules too.
type Locate func(path string) Target

// LocateIn judges paths by the workspace's roots, links resolved, and by
// SecretPath. Relative paths are of the first root.
func LocateIn(roots []string) Locate {
	resolved := make([]string, len(roots))
	for i, r := range roots {
		resolved[i] = ResolveLinks(r)
	}
	return func(p string) Target {
		abs := filepath.FromSlash(p)
		if !filepath.IsAbs(abs) && len(roots) > 0 {
			// Not Join, which would take a ".." after a link lexically.
			abs = resolved[0] + string(filepath.Separator) + abs
		}
		abs = ResolveLinks(abs)
		t := Target{Path: filepath.ToSlash(abs), Abs: filepath.ToSlash(abs), Outside: true, Secret: SecretPath(p) || SecretPath(abs)}
		for _, r := range resolved {
			if rel, err := filepath.Rel(r, abs); err == nil && filepath.IsLocal(rel) {
				t.Path, t.Outside = filepath.ToSlash(rel), false
				break
			}
		}
		return t
	}
}

// linksMax bounds the links that one path may lead through.
const linksMax = 40

// ResolveLinks gives an absolute path with symbolic links followed as far as
// it exists, in the order in which the system would.
func ResolveLinks(p string) string {
	sep := string(filepath.Separator)
	out := filepath.VolumeName(p) + sep
	rest := strings.Split(p[len(filepath.VolumeName(p)):], sep)
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			out = filepath.Dir(out)
			continue
		}
		next := filepath.Join(out, part)
		to, err := os.Readlink(next)
		if err != nil || links == linksMax {
			out = next
			continue
		}
		links++
		if filepath.IsAbs(to) {
			out = filepath.VolumeName(to) + sep
			to = to[len(filepath.VolumeName(to)):]
		}
		rest = append(strings.Split(filepath.FromSlash(to), sep), rest...)
	}
	return out
}

// NewRequest makes the request for one call. Arguments that can't be read give
// a request without targets; the tool itself will say what is wrong with them.
func NewRequest(spec Spec, args json.RawMessage, locate Locate) Request {
	r := Request{Tool: spec.Name, ReadOnly: spec.ReadOnly, Builtin: slices.Contains(builtinNames, spec.Name)}
	var fields map[string]any
	if json.Unmarshal(args, &fields) != nil {
		return r
	}
	text := func(name string) string { s, _ := fields[name].(string); return s }
	switch {
	case r.Tool == "bash":
		r.Command = text("command")
	case isFileTool(r.Tool):
		p := text("path")
		if p == "" {
			p = "."
		}
		r.Targets = []Target{locate(p)}
	case r.Tool == "fetch":
		if u, err := fetchURL(text("url")); err == nil {
			r.Subject = u.Host
		}
	default:
		for _, name := range []string{"path", "command", "query", "name"} {
			if r.Subject == "" {
				r.Subject = text(name)
			}
		}
	}
	return r
}

// builtinNames are our own tools, whose ReadOnly can be believed.
var builtinNames = func() (names []string) {
	for _, t := range Builtin() {
		names = append(names, t.Spec().Name)
	}
	return append(names, "diagnostics", "fetch", "task")
}()

// Permit is what came of asking.
type Permit struct {
	Decision Decision
	Allowed  bool
	Asked    bool   // the person was asked
	Save     []Rule // rules that they want to be kept; already parsed
	Refusal  Result // for the model, when not Allowed
}

// Authorize decides on one call and asks the person where the rules say so.
// Whatever goes wrong on the way is a no.
func Authorize(ctx context.Context, env Env, p Policy, spec Spec, title string, args json.RawMessage, locate Locate) Permit {
	req := NewRequest(spec, args, locate)
	d := Decide(p, req)
	permit := Permit{Decision: d, Allowed: d.Verdict == Allow}
	switch {
	case permit.Allowed:
		return permit
	case d.Verdict == Deny:
		return permit.refuse(spec.Name, d.Why)
	case env.Asker == nil:
		return permit.refuse(spec.Name, d.Why+", and there is nobody to ask")
	}
	permit.Asked = true
	q := Question{CallID: env.CallID, Tool: spec.Name, Title: title, Detail: d.detail(req), Destructive: d.Destructive,
		Rule: strings.Join(d.Suggest, "\n")}
	answer, err := env.Asker.Ask(ctx, q)
	if ctx.Err() != nil {
		permit.Refusal = cancelled()
		return permit
	}
	if err != nil {
		return permit.refuse(spec.Name, "the person could not be asked: "+err.Error())
	}
	if !answer.Allow {
		why := "the person said no"
		if answer.Reason != "" {
			why += ": " + answer.Reason
		}
		return permit.refuse(spec.Name, why)
	}
	permit.Allowed = true
	if answer.Always {
		for _, s := range d.Suggest {
			if r, err := ParseRule(s, SourceAnswer); err == nil {
				permit.Save = append(permit.Save, r)
			}
		}
	}
	return permit
}

func (p Permit) refuse(tool, why string) Permit {
	p.Refusal = Fail(fmt.Sprintf("%s: not permitted: %s. Do not try the same again; find another way or ask the person.", tool, why), "not permitted")
	p.Refusal.Detail.Refused, p.Refusal.Detail.Blocked = why, true
	return p
}

// detail is what the person reads before they answer.
func (d Decision) detail(r Request) string {
	var b strings.Builder
	if r.Command != "" {
		b.WriteString(r.Command + "\n\n")
	}
	b.WriteString("Asked because " + d.Why + ".")
	if d.Network {
		b.WriteString(" It needs the network.")
	}
	if d.Destructive {
		b.WriteString(" It may destroy what can't be had back.")
	}
	return b.String()
}
