package catalog

import (
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// knownModels is what is known of hosted models by the beginning of their
// name: windows and limits in tokens, prices in US dollars per million. The
// longest match counts. Settings override it; a model that is not here has no
// known window, and is asked for.
var knownModels = []struct {
	prefix string
	caps   model.Caps
}{
	{"openai/gpt-5", model.Caps{ContextWindow: 400_000, OutputLimit: 128_000, Tools: true, Images: true, Reasoning: true, Cache: true, USDPerMIn: 1.25, USDPerMOut: 10, USDPerMCached: 0.125}},
	{"openai/gpt-4.1", model.Caps{ContextWindow: 1_047_576, OutputLimit: 32_768, Tools: true, Images: true, Cache: true, USDPerMIn: 2, USDPerMOut: 8, USDPerMCached: 0.5}},
	{"openai/gpt-4o", model.Caps{ContextWindow: 128_000, OutputLimit: 16_384, Tools: true, Images: true, Cache: true, USDPerMIn: 2.5, USDPerMOut: 10, USDPerMCached: 1.25}},
	{"groq/llama-3.3-70b", model.Caps{ContextWindow: 131_072, OutputLimit: 32_768, Tools: true, USDPerMIn: 0.59, USDPerMOut: 0.79}},
}

func known(name string) model.Caps {
	var best model.Caps
	length := 0
	for _, k := range knownModels {
		if strings.HasPrefix(name, k.prefix) && len(k.prefix) > length {
			best, length = k.caps, len(k.prefix)
		}
	}
	return best
}
