package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/guidance"
	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/rag"
	"github.com/agent-lsp/agent-lsp/tools"
	"github.com/agent-lsp/agent-lsp/tools/mcp"
)

// house is an engine with all that it is made of: the only place where the
// concrete parts meet.
type house struct {
	engine  *agent.Engine
	index   *rag.Index
	ledger  *edits.Ledger
	store   *store.Store
	space   *workspace.Workspace
	catalog *catalog.Catalog
	config  config.Config
	mcp     *mcp.Pool // nil where nothing is run
	log     func(format string, args ...any)
	closers []func()
}

// options say how a command uses the engine.
type options struct {
	dir      string // "" = the current folder
	model    string
	settings []byte // the editor's own, JSON
	still    bool   // reads what is stored only: nothing is indexed or watched
	runs     bool   // holds the workspace's claim: its engine runs; others only look
	log      func(format string, args ...any)
}

// open puts an engine together for a folder.
func open(ctx context.Context, o options) (_ *house, err error) {
	if o.dir == "" {
		if o.dir, err = workingDir(); err != nil {
			return nil, err
		}
	}
	if o.log == nil {
		o.log = func(string, ...any) {}
	}
	h := &house{log: o.log}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if h.space, err = workspace.Open([]string{o.dir}); err != nil {
		return nil, err
	}
	h.closers = append(h.closers, func() { h.space.Close() })
	root := h.space.Roots()[0]
	if h.config, err = config.Load(root, o.settings); err != nil {
		return nil, err
	}
	if o.model != "" {
		h.config.Model = o.model
	}
	places := placesOf(root)
	if h.store, err = store.Open(ctx, places.state); err != nil {
		return nil, err
	}
	h.closers = append(h.closers, func() { h.store.Close() })
	h.catalog = catalog.New(modelSettings(h.config.File))
	h.closers = append(h.closers, h.catalog.Close)

	var engine *agent.Engine
	var ready sync.RWMutex // callbacks come before the engine is there
	with := func(f func(*agent.Engine)) {
		ready.RLock()
		defer ready.RUnlock()
		if engine != nil {
			f(engine)
		}
	}
	h.ledger = edits.New(edits.Config{Journal: agent.NewJournal(h.store), Blobs: agent.NewBlobs(h.store), Workspace: h.space,
		Changed: func(c edits.Changed) { with(func(e *agent.Engine) { e.EditsHappened(c) }) }})
	recorded, err := agent.JournalEvents(ctx, h.store)
	if err != nil {
		return nil, err
	}
	if !o.runs {
		h.ledger.Observe(recorded)
	} else if err := h.ledger.Load(ctx, recorded); err != nil {
		o.log("some files' reviews could not be taken up: %v", err) // the rest is loaded
	}
	source, err := newSource(root, h.space)
	if err != nil {
		return nil, err
	}
	h.index, err = rag.Open(places.index, source, rag.Options{
		OnStatus: func(s rag.Status) { with(func(e *agent.Engine) { e.IndexHappened(s) }) }})
	if err != nil {
		return nil, err
	}
	h.closers = append(h.closers, func() { h.index.Close() })
	touched := newTouches(h.index)
	h.closers = append(h.closers, touched.close)

	registry := tools.NewRegistry(tools.Builtin()...)
	shell, err := newShell(root)
	if err != nil {
		return nil, err
	}
	rules, err := newPermissions(ctx, h, root)
	if err != nil {
		return nil, err
	}
	written := guidance.Places{Root: root, Home: homeDir(), Config: filepath.Dir(config.UserPath())}
	e := agent.New(agent.Parts{
		Root: root, Store: h.store, Index: h.index, Edits: h.ledger, Tools: registry, Models: models{h.catalog}, Shell: shell,
		Permissions: rules, Settings: settingsOf(h.config.File), SettingSources: h.config.Sources, Version: version,
		Now: time.Now, NewID: newID, Log: o.log, SourceText: source.Read, Instructions: instructionsOf(written), Commands: commandsOf(written),
		Skills:   skillsOf(written),
		Observer: !o.runs, Touched: touched.add, Paths: source.paths, Tips: func() []string { return tips(h.index) },
	})
	for _, t := range []tools.Tool{tools.Diagnostics(e), tools.Fetch(tools.FetchOptions{})} {
		if err := registry.Add(t); err != nil {
			return nil, err
		}
	}
	ready.Lock()
	engine, h.engine = e, e
	ready.Unlock()
	h.closers = append(h.closers, func() { e.Close() })
	if o.runs {
		if err := e.Start(ctx); err != nil {
			return nil, err
		}
	}
	if !o.still {
		h.mcp = openMCP(h.config.MCP, registry, root, places.cache, o.log)
		h.closers = append(h.closers, h.mcp.Close)
		stop, err := followDisk(ctx, source, h, touched)
		if err != nil {
			o.log("changes on disk are not followed: %v", err)
		} else {
			h.closers = append(h.closers, stop)
		}
		h.index.Start(ctx)
	}
	return h, nil
}

// close ends everything in the reverse order of its making.
func (h *house) close() {
	for i := len(h.closers) - 1; i >= 0; i-- {
		h.closers[i]()
	}
	h.closers = nil
}

// withEngine opens the current folder's engine for one command.
func withEngine(ctx context.Context, s streams, o options, f func(*house) error) error {
	h, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer h.close()
	return f(h)
}

// indexWaitEvery is how often a waiting command looks at the index.
const indexWaitEvery = 50 * time.Millisecond

// ready waits until the index answers in full, telling the progress.
func (h *house) ready(ctx context.Context, w io.Writer) error {
	tick := time.NewTicker(indexWaitEvery)
	defer tick.Stop()
	shown := false
	for {
		st := h.index.Status()
		if st.State != rag.StateIndexing {
			if shown && isTerminal(w) {
				fmt.Fprint(w, "\r\x1b[K")
			}
			return nil
		}
		if isTerminal(w) && st.Total > 0 {
			shown = true
			fmt.Fprintf(w, "\rindexing %d of %d files", st.Done, st.Total)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// places are where a workspace's state and index live.
type places struct{ state, index, cache string }

// placesOf names them by the folder's name and a hash of its path, so that a
// person finds them and two folders of one name don't meet.
func placesOf(root string) places {
	sum := sha256.Sum256([]byte(root))
	name := safeName(filepath.Base(root)) + "-" + hex.EncodeToString(sum[:6])
	cache := filepath.Join(xdg("XDG_CACHE_HOME", ".cache"), "agent-lsp")
	return places{
		state: filepath.Join(xdg("XDG_STATE_HOME", ".local/state"), "agent-lsp", name+".db"),
		index: filepath.Join(cache, "index", name),
		cache: cache,
	}
}

func safeName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, s)
}

func xdg(name, fallback string) string {
	if dir := os.Getenv(name); filepath.IsAbs(dir) {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "agent-lsp-"+fmt.Sprint(os.Getuid()))
	}
	return filepath.Join(home, fallback)
}

// newID makes a unique id that sorts by the time of its making.
func newID(prefix string) string {
	var b [5]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // the system has no randomness: nothing can be done safely
	}
	return fmt.Sprintf("%s%011x%s", prefix, time.Now().UnixMilli(), hex.EncodeToString(b[:]))
}

// models is the catalog as the engine sees it.
type models struct{ c *catalog.Catalog }

// Resolve implements agent.Models.
func (m models) Resolve(ctx context.Context, name string) (agent.ResolvedModel, error) {
	r, err := m.c.Resolve(ctx, name)
	if err != nil {
		var no *catalog.NoModelError
		if errors.As(err, &no) {
			return agent.ResolvedModel{}, &agent.Error{Code: agent.CodeNoModel, Message: no.Message, Hint: no.Hint}
		}
		return agent.ResolvedModel{}, err
	}
	return agent.ResolvedModel{Name: r.Name, ID: r.ID, Model: r.Model, Caps: r.Caps}, nil
}

// List implements agent.Models.
func (m models) List(ctx context.Context) []agent.ModelInfo {
	out := []agent.ModelInfo{}
	for _, x := range m.c.List(ctx) {
		out = append(out, agent.ModelInfo{Name: x.Name, Alias: x.Alias, Available: x.Available, Why: x.Why, ContextWindow: x.Caps.ContextWindow, Local: x.Caps.Local})
	}
	return out
}
