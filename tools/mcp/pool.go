package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/agent-lsp/agent-lsp/tools"
)

// Registry is where the tools go: *tools.Registry.
type Registry interface {
	Add(tools.Tool) error
	Remove(name string)
}

// Options say what Open needs to know.
type Options struct {
	Servers  []Server
	Registry Registry
	Dir      string   // where commands run: a folder of nobody's, so that a workspace's files can't change what they do
	Environ  []string // ours; servers get it cleaned
	Version  string   // ours, for servers
	// Log is told what happens to servers; nil switches that off.
	Log func(format string, args ...any)
}

// The states of a server.
const (
	Starting = "starting"
	Ready    = "ready"
	Down     = "down"     // it will be started again
	GivenUp  = "given up" // it won't
)

// State is how a server is.
type State struct {
	Name     string
	State    string
	Tools    int
	Restarts int
	Says     string   // what it calls itself when ready, why it isn't otherwise
	LeftOut  []string // what its limits kept out
}

// Pool is the configured servers. It is safe for concurrent use.
type Pool struct {
	servers []*server
	stop    context.CancelFunc
	all     sync.WaitGroup
}

// Open starts the servers in the background and returns at once. Their tools
// come into the registry as they answer. Servers whose settings are wrong, and
// those beyond ServersMax, are given up at once, with why.
func Open(o Options) *Pool { return open(o, defaultTimes()) }

func open(o Options, t times) *Pool {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &Pool{stop: stop}
	list := slices.Clone(o.Servers)
	slices.SortStableFunc(list, func(a, b Server) int { return cmp.Compare(a.Name, b.Name) })
	share := min(toolsMax, toolsAllMax/max(1, min(len(list), ServersMax)))
	for i, cfg := range list {
		s := newServer(cfg, o, t, share)
		p.servers = append(p.servers, s)
		err := cfg.Check()
		switch {
		case i >= ServersMax:
			err = fmt.Errorf("the limit is %d servers", ServersMax)
		case err == nil && i > 0 && list[i-1].Name == cfg.Name:
			err = fmt.Errorf("there are two servers of this name")
		}
		if err != nil {
			s.become(GivenUp, err.Error())
			close(s.settled)
			continue
		}
		p.all.Go(func() { s.live(ctx) })
	}
	return p
}

// Settled waits until every server has answered or failed once.
func (p *Pool) Settled(ctx context.Context) error {
	for _, s := range p.servers {
		select {
		case <-s.settled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// States gives the state of every server, by name.
func (p *Pool) States() []State {
	out := []State{}
	for _, s := range p.servers {
		out = append(out, s.look())
	}
	return out
}

// Close ends all servers and what they started in their process groups. Calls
// in flight fail.
func (p *Pool) Close() {
	p.stop()
	p.all.Wait()
}
