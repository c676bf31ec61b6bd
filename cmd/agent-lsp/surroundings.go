package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/guidance"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/rag"
)

// source is the workspace as the index sees it: what may be indexed, and each
// file as the person sees it, unsaved buffers included.
type source struct {
	scan  *workspace.Scanner
	space *workspace.Workspace
}

func newSource(root string, space *workspace.Workspace) (*source, error) {
	scan, err := workspace.NewScanner(root)
	if err != nil {
		return nil, err
	}
	return &source{scan, space}, nil
}

// Root implements rag.Source.
func (s *source) Root() string { return s.scan.Root() }

// Files implements rag.Source. An unsaved buffer's stamp is made of its text: the
// file on disk says nothing of it.
func (s *source) Files(ctx context.Context, paths []string) ([]rag.File, error) {
	list, err := s.scan.Scan(ctx, paths)
	unsaved := map[string]string{}
	for _, d := range s.space.Docs() {
		if d.Dirty() {
			unsaved[d.Place.Path] = d.Text
		}
	}
	out := make([]rag.File, 0, len(list))
	for _, f := range list {
		file := rag.File{Path: f.Path, Size: f.Size, ModTime: f.ModTime}
		if s, ok := unsaved[f.Path]; ok {
			stamp := fnv.New64a()
			_, _ = stamp.Write([]byte(s))
			file.Size, file.ModTime = int64(len(s)), int64(stamp.Sum64())
		}
		out = append(out, file)
	}
	return out, err
}

// Read implements rag.Source.
func (s *source) Read(path string) ([]byte, error) {
	if place, err := s.space.Resolve(path); err == nil {
		if doc, ok := s.space.Doc(place); ok {
			return []byte(doc.Text), nil
		}
	}
	return s.scan.Read(path)
}

// paths lists what may be mentioned.
func (s *source) paths(ctx context.Context) []string {
	files, err := s.Files(ctx, nil)
	if err != nil {
		return nil // nothing to propose
	}
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.Path
	}
	return out
}

// touches collects changed paths and gives them to the index in batches.
type touches struct {
	index *rag.Index
	mu    sync.Mutex
	paths map[string]bool
	wake  chan struct{}
	end   chan struct{}
	done  chan struct{}
}

// touchQuiet is how long the index waits for more changes: a burst of saves is
// one batch, and a save is still found at once by a person's measure.
const touchQuiet = 40 * time.Millisecond

func newTouches(index *rag.Index) *touches {
	t := &touches{index: index, paths: map[string]bool{}, wake: make(chan struct{}, 1), end: make(chan struct{}), done: make(chan struct{})}
	go t.run()
	return t
}

func (t *touches) add(path string) {
	t.mu.Lock()
	t.paths[path] = true
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *touches) run() {
	defer close(t.done)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { <-t.end; cancel() }()
	for {
		select {
		case <-t.wake:
		case <-t.end:
			return
		}
		select {
		case <-time.After(touchQuiet):
		case <-t.end:
			return
		}
		t.mu.Lock()
		list := make([]string, 0, len(t.paths))
		for p := range t.paths {
			list = append(list, p)
		}
		t.paths = map[string]bool{}
		t.mu.Unlock()
		if len(list) > 0 {
			_ = t.index.Update(ctx, list) // what fails shows in the index's own status
		}
	}
}

func (t *touches) close() {
	close(t.end)
	<-t.done
}

// followDisk keeps the ledger and the index current with what happens on disk.
func followDisk(ctx context.Context, src *source, h *house, touched *touches) (stop func(), err error) {
	w, err := src.scan.Watch(ctx)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for b := range w.Changes() {
			h.ledger.DiskChanged(b.Paths)
			if b.Rescan || b.HeadMoved {
				_ = h.index.Refresh(ctx) // what fails shows in the index's own status
				continue
			}
			for _, p := range b.Paths {
				touched.add(p)
			}
		}
	}()
	return func() {
		w.Close()
		<-done
	}, nil
}

// homeDir is the user's home, "" where there is none.
func homeDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return home
}

// instructionsOf, commandsOf and skillsOf are what people wrote down for the
// agent, as the engine takes it.
func instructionsOf(p guidance.Places) func([]string) []agent.Instruction {
	return func(paths []string) []agent.Instruction {
		var out []agent.Instruction
		for _, x := range p.Instructions(paths) {
			out = append(out, agent.Instruction{Path: x.Path, Text: x.Text, Workspace: x.Workspace})
		}
		return out
	}
}

func commandsOf(p guidance.Places) func() ([]agent.UserCommand, []string) {
	return func() ([]agent.UserCommand, []string) {
		var out []agent.UserCommand
		list, problems := p.Commands()
		for _, c := range list {
			out = append(out, agent.UserCommand{Name: c.Name, Description: c.Description, Arguments: c.Arguments, Categories: c.Categories,
				Model: c.Model, Mode: c.Mode, Body: c.Body, Path: c.Path, Workspace: c.Workspace})
		}
		return out, problems
	}
}

func skillsOf(p guidance.Places) func() []agent.Skill {
	return func() []agent.Skill {
		var out []agent.Skill
		for _, s := range p.Skills() {
			out = append(out, agent.Skill{Name: s.Name, Description: s.Description, Body: s.Body, Path: s.Path, Workspace: s.Workspace})
		}
		return out
	}
}

// settingsOf is the engine's part of the settings.
func settingsOf(f config.File) agent.Settings {
	return agent.Settings{Model: f.Model, StepsMax: f.StepsMax, Budget: cycle.Budget{Tokens: f.BudgetTokens, USD: f.BudgetUSD, Seconds: f.BudgetSeconds},
		RunsMax: f.RunsMax, AutoDelivery: cycle.Delivery(f.Delivery), Edits: f.Edits,
		PermissionSecs: f.PermissionTimeout, EvidenceTokens: f.EvidenceTokens, OutputBytes: f.OutputBytes, Check: f.Check,
		EnableCommands: f.EnableCommands, EnablePrompts: f.EnablePrompts, EnableWorkflows: f.EnableWorkflows, Memory: f.Memory,
		Allow: f.Permissions.Allow, Ask: f.Permissions.Ask, Deny: f.Permissions.Deny}
}

// reconfigure takes the editor's settings.
func (h *house) reconfigure(settings []byte) {
	c, err := config.Load(h.space.Roots()[0], settings)
	if err != nil {
		h.log("the new settings were not taken: %v", err)
		return
	}
	h.config = c
	h.engine.Reconfigure(settingsOf(c.File), c.Sources)
}

// tips are three things to try that fit this repository, made from its index.
func tips(index *rag.Index) []string {
	const wanted = 3
	out := []string{}
	seen := map[string]bool{}
	for _, ask := range []struct{ query, form string }{{"New", "how does %s work?"}, {"Get", "where is %s used?"}, {"parse", "rename %s to …"}, {"test", "what does %s check?"}} {
		for _, s := range index.Symbols(ask.query, wanted) {
			if !seen[s.Name] && len(out) < wanted {
				seen[s.Name] = true
				out = append(out, fmt.Sprintf(ask.form, s.Name))
				break
			}
		}
	}
	return out
}

// modelSettings is the catalog's part of the settings.
func modelSettings(f config.File) catalog.Settings {
	s := catalog.Settings{Model: f.Model, Aliases: f.Aliases, Providers: map[string]catalog.Provider{}, Models: map[string]catalog.Model{}}
	for name, p := range f.Providers {
		s.Providers[name] = catalog.Provider{BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, API: p.API}
	}
	for name, m := range f.Models {
		s.Models[name] = catalog.Model{Tools: m.Tools, Images: m.Images, Server: catalog.Provider{BaseURL: m.BaseURL, KeyEnv: m.KeyEnv, API: m.API},
			Caps: model.Caps{ContextWindow: m.ContextWindow, OutputLimit: m.OutputLimit, USDPerMIn: m.USDPerMIn, USDPerMOut: m.USDPerMOut,
				USDPerMCached: m.USDPerMCached, USDPerMWrite: m.USDPerMWrite, Thinking: m.Thinking, Effort: m.Effort}}
	}
	return s
}
