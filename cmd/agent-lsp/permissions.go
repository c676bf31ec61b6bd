package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/tools"
)

// permissions are the rules in force: the defaults, the settings', and what
// the person answered with "always" in this workspace.
type permissions struct {
	store *store.Store
	mu    sync.Mutex
	base  tools.Policy
	saved []string
}

// savedRules is where the answers are kept.
const savedRules = "permissions.saved"

func newPermissions(ctx context.Context, h *house, root string) (*permissions, error) {
	home, _ := os.UserHomeDir() // without one, ~ in rules matches nothing
	p := &permissions{store: h.store, base: tools.Policy{Rules: tools.Defaults(), Roots: []string{root}, Temp: []string{os.TempDir()},
		Home: home, Trusted: true, Resolve: tools.ResolveLinks}}
	for _, group := range []struct {
		rules   []string
		verdict tools.Verdict
	}{{h.config.Permissions.Allow, tools.Allow}, {h.config.Permissions.Ask, tools.Ask}, {h.config.Permissions.Deny, tools.Deny}} {
		for _, call := range group.rules {
			r, err := tools.NewRule(call, string(group.verdict), tools.SourceUser)
			if err != nil {
				return nil, fmt.Errorf("the settings' permissions: %w", err)
			}
			p.base = p.base.With(r)
		}
	}
	body, err := h.store.Setting(ctx, savedRules)
	if err != nil {
		return nil, err
	}
	if body != "" {
		if err := json.Unmarshal([]byte(body), &p.saved); err != nil {
			return nil, fmt.Errorf("the saved permissions can't be read: %w", err)
		}
	}
	return p, p.add(p.saved)
}

func (p *permissions) add(rules []string) error {
	for _, s := range rules {
		r, err := tools.ParseRule(s, tools.SourceAnswer)
		if err != nil {
			return err
		}
		p.base = p.base.With(r)
	}
	return nil
}

// Policy implements agent.Permissions.
func (p *permissions) Policy() tools.Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.base
}

// Save implements agent.Permissions.
func (p *permissions) Save(ctx context.Context, rules []tools.Rule) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, r := range rules {
		list = append(list, r.String())
	}
	body, err := json.Marshal(append(append([]string{}, p.saved...), list...))
	if err != nil {
		return err
	}
	if err := p.store.SetSetting(ctx, savedRules, string(body)); err != nil {
		return err
	}
	p.saved = append(p.saved, list...)
	return p.add(list)
}
