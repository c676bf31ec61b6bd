package catalog

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model/builtin"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// List shows every model, in the order in which the default is looked for: the
// hosted ones, those of this machine, the person's own, and builtin last.
func (c *Catalog) List(ctx context.Context) []Info {
	l := &lister{c: c, ctx: ctx, aliases: map[string]string{}}
	for _, from := range []map[string]string{builtinAliases, c.settings.Aliases} { // the person's own win, the first by name among them
		for _, alias := range slices.Backward(slices.Sorted(maps.Keys(from))) {
			l.aliases[c.target(ctx, alias)] = alias
		}
	}
	for _, h := range hosted {
		l.hosted(h.provider, h.keyEnv, h.baseEnv)
	}
	for _, local := range c.locals(ctx) {
		l.local(local)
	}
	var own []string
	for _, target := range c.settings.Aliases {
		own = append(own, c.target(ctx, target))
	}
	for name := range c.settings.Models {
		own = append(own, name)
	}
	slices.Sort(own)
	for _, name := range slices.Compact(own) {
		l.configured(name)
	}
	return append(l.out, Info{Name: builtin.Name, Alias: l.aliases[builtin.Name], Available: true, Why: "offline and rule-based: finds, explains by quoting, edits mechanically", Caps: builtin.Caps()})
}

// lister makes the list.
type lister struct {
	c       *Catalog
	ctx     context.Context
	aliases map[string]string // by model
	out     []Info
}

func (l *lister) add(name string, available bool, why string) {
	caps := l.c.caps(l.ctx, name)
	if available && !caps.Tools && caps.ContextWindow > 0 && !strings.Contains(why, "without tools") {
		if _, inTable := known(name); inTable {
			why += "; without tools: it calls them only through another API"
		}
	}
	if caps.ContextWindow == 0 {
		why += `; its context window is not known: [models."` + name + `"] context_window = …`
	}
	l.out = append(l.out, Info{Name: name, Alias: l.aliases[name], Available: available, Why: why, Caps: caps})
}

// hosted lists a provider's current models.
func (l *lister) hosted(provider, keyEnv, baseEnv string) {
	set := l.c.settings.Providers[provider]
	keyEnv = cmp.Or(set.KeyEnv, keyEnv)
	available, why := true, keyEnv+" is set"
	switch _, err := l.c.server(provider, ""); {
	case err != nil:
		available, why = false, "set "+keyEnv
	case l.c.env(keyEnv) != "":
	case set.BaseURL != "":
		why = "its base_url is set"
	case l.c.env(baseEnv) != "":
		why = baseEnv + " is set"
	default:
		why = tokenEnv + " is set"
	}
	for _, k := range knownModels {
		if k.listed && strings.HasPrefix(k.name, provider+"/") {
			l.add(k.name, available, why)
		}
	}
}

// local lists the models of a server on this machine, or says how to get one.
func (l *lister) local(server openai.Local) {
	for _, f := range server.Models {
		switch {
		case !f.Chat:
		case f.Caps.Tools:
			l.add(server.Provider+"/"+f.Name, true, "served on this machine")
		default:
			l.add(server.Provider+"/"+f.Name, true, "served on this machine, without tools")
		}
	}
	if len(server.Models) == 0 {
		why := "no models"
		if server.Err != nil {
			why = server.Err.Error()
		}
		l.out = append(l.out, Info{Name: server.Provider + "/…", Why: why + "; " + howToStart[server.Provider]})
	}
}

// configured lists a model that the settings name.
func (l *lister) configured(name string) {
	if name == builtin.Name || slices.ContainsFunc(l.out, func(i Info) bool { return i.Name == name }) {
		return
	}
	provider, id, ok := strings.Cut(name, "/")
	if !ok || id == "" {
		l.out = append(l.out, Info{Name: name, Alias: l.aliases[name], Why: "no model: the settings must name it as provider/name"})
		return
	}
	if s, err := l.c.server(provider, name); err == nil {
		why := "configured"
		if s.base != "" {
			why += ", at " + addressOf(s)
		}
		l.add(name, true, why)
		return
	}
	l.out = append(l.out, Info{Name: name, Alias: l.aliases[name], Why: "its provider " + provider + " has no address or no key: [providers." + provider + "]"})
}

// addressOf is a server's address without a password.
func addressOf(s server) string {
	if _, after, ok := strings.Cut(s.base, "@"); ok {
		return after
	}
	return s.base
}

var howToStart = map[string]string{
	openai.ProviderOllama:   "start ollama, then: ollama pull qwen3:8b",
	openai.ProviderLlamaCpp: "start llama-server --jinja on port 8080",
}
