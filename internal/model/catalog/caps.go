package catalog

import (
	"cmp"
	"context"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// caps is what is known of a model: the built-in table, corrected by what its
// server said, overridden by the settings. The window stays zero where nobody
// knows it.
func (c *Catalog) caps(ctx context.Context, name string) model.Caps {
	k, inTable := known(name)
	set := c.settings.Models[name]
	provider, id, _ := strings.Cut(name, "/")
	switch {
	case isLocal(provider):
		for _, l := range c.locals(ctx) {
			for _, f := range l.Models {
				if l.Provider == provider && f.Name == id {
					k = f.Caps
					k.Local = true
				}
			}
		}
	case !inTable && set.ContextWindow == 0:
		if says, ok := c.saysOf(ctx, provider, id); ok {
			k.ContextWindow, k.OutputLimit = says.ContextWindow, says.OutputLimit
		}
	}
	return set.over(k)
}

// over lays what the person said over what is known.
func (m Model) over(k model.Caps) model.Caps {
	k.ContextWindow = cmp.Or(m.ContextWindow, k.ContextWindow)
	k.OutputLimit = cmp.Or(m.OutputLimit, k.OutputLimit)
	if m.USDPerMIn != 0 || m.USDPerMOut != 0 { // one price for all lengths
		k.LongPrompt = 0
	}
	k.USDPerMIn = cmp.Or(m.USDPerMIn, k.USDPerMIn)
	k.USDPerMOut = cmp.Or(m.USDPerMOut, k.USDPerMOut)
	k.USDPerMCached = cmp.Or(m.USDPerMCached, k.USDPerMCached)
	k.USDPerMWrite = cmp.Or(m.USDPerMWrite, k.USDPerMWrite)
	k.Effort = cmp.Or(m.Effort, k.Effort)
	if m.Thinking == thinkingOff {
		k.Thinking = ""
	} else {
		k.Thinking = cmp.Or(m.Thinking, k.Thinking)
	}
	if m.Tools != nil {
		k.Tools = *m.Tools
	}
	if m.Images != nil {
		k.Images = *m.Images
	}
	return k
}

// thinkingOff in the settings keeps a model from being asked to reason.
const thinkingOff = "off"
