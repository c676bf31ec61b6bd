package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sourcegraph/conc/panics"
)

// ToolsMax bounds a registry, so that a misbehaving server of tools can't fill
// a model's prompt.
const ToolsMax = 256

// Registry holds the tools of one session by name. The zero value is not
// usable: call NewRegistry. It is safe for concurrent use.
type Registry struct {
	mu     sync.RWMutex
	byName map[string]Tool
	names  []string // sorted
}

// NewRegistry makes a registry with the given tools. Two tools of one name are
// a mistake in the program and panic.
func NewRegistry(tools ...Tool) *Registry {
	r := &Registry{byName: map[string]Tool{}}
	for _, t := range tools {
		if err := r.Add(t); err != nil {
			panic(err)
		}
	}
	return r
}

// Builtin gives the tools that every session has.
func Builtin() []Tool {
	return []Tool{
		Ls(), Read(), Grep(), Find(), Write(), Edit(), Bash(),
		Search(), Symbols(), References(), Scratchpad(), Todo(),
	}
}

// Add puts one more tool in, for example one of a configured server of tools.
func (r *Registry) Add(t Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := t.Spec().Name
	if name == "" {
		return fmt.Errorf("tools: a tool without a name can't be registered")
	}
	if _, ok := r.byName[name]; ok {
		return fmt.Errorf("tools: there is already a tool %q; rename one of them", name)
	}
	if len(r.names) >= ToolsMax {
		return fmt.Errorf("tools: %q is one tool too many, the limit is %d", name, ToolsMax)
	}
	r.byName[name] = t
	at, _ := slices.BinarySearch(r.names, name)
	r.names = slices.Insert(r.names, at, name)
	return nil
}

// Remove takes a tool out; an unknown name is fine.
func (r *Registry) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byName, name)
	if at, ok := slices.BinarySearch(r.names, name); ok {
		r.names = slices.Delete(r.names, at, at+1)
	}
}

// Get gives a tool by its exact name.
func (r *Registry) Get(name string) (Tool, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, ok := r.byName[name]
	return t, ok
}

// All gives every tool, by name.
func (r *Registry) All() []Tool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]Tool, len(r.names))
	for i, name := range r.names {
		all[i] = r.byName[name]
	}
	return all
}

// Schemas gives the specs of the tools of some categories, in order of name;
// no categories are all. In planning there are only read-only tools, so that a
// model can't even name one that writes or runs.
func (r *Registry) Schemas(categories []Category, planning bool) []Spec {
	specs := []Spec{}
	for _, t := range r.All() {
		s := t.Spec()
		if planning && !s.ReadOnly {
			continue
		}
		if len(categories) > 0 && !slices.Contains(categories, s.Category) {
			continue
		}
		specs = append(specs, s)
	}
	return specs
}

// Title is the step tree's line for a call, whatever the model asked for.
func (r *Registry) Title(name string, args json.RawMessage) string {
	t, ok := r.Get(name)
	if !ok {
		return oneLine(string(args), titleMax)
	}
	var title string
	if panicked := panics.Try(func() { title = t.Title(args) }); panicked != nil {
		return oneLine(string(args), titleMax)
	}
	return oneLine(title, titleMax)
}

// Run runs one call. An unknown tool, arguments that don't fit, a panic and
// the tool's own time limit are all results for the model, never errors.
// Permission is the caller's business: see Authorize.
func (r *Registry) Run(ctx context.Context, env Env, name string, args json.RawMessage) Result {
	t, ok := r.Get(name)
	if !ok {
		return r.unknown(name)
	}
	if env.Output == nil {
		env.Output = func(string) {}
	}
	limit := t.Spec().Timeout
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	var res Result
	if panicked := panics.Try(func() { res = t.Run(ctx, env, args) }); panicked != nil {
		return panicResult(name, panicked)
	}
	if res.Status == StatusCancelled && ctx.Err() == context.DeadlineExceeded {
		return Fail(fmt.Sprintf("%s: not done within %s; narrow it down", name, limit), "timed out")
	}
	return res
}

func (r *Registry) unknown(name string) Result {
	r.mu.RLock()
	names := slices.Clone(r.names)
	r.mu.RUnlock()
	hint := "tools: " + strings.Join(names, ", ")
	if near := nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	res := Fail(fmt.Sprintf("there is no tool %q; %s", clip(name, titleMax), hint), "unknown tool")
	res.Detail.Blocked = true
	return res
}

func panicResult(name string, p *panics.Recovered) Result {
	return Fail(fmt.Sprintf("%s: a fault in the tool itself: %v; other calls are not affected", name, p.Value), "fault")
}
