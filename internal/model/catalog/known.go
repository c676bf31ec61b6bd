package catalog

import (
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// KnownDate is when the table was last held against the providers' own pages:
// platform.claude.com/docs (models overview, pricing), developers.openai.com
// (model pages), console.groq.com/docs/models.
const KnownDate = "2026-11-21"

// knownModel is one row: what is known of a hosted model by its exact name, or
// by its name with a date. Windows and limits are tokens, prices US dollars per
// million. Settings override it; a model that is not here has no known window,
// and is asked for.
type knownModel struct {
	name   string // provider/name
	listed bool   // current: shown in the list of models
	caps   model.Caps
}

// claude is what Anthropic's models have in common.
func claude(window, output int, thinking string, in, out, read, write float64) model.Caps {
	return model.Caps{ContextWindow: window, OutputLimit: output, Tools: true, Images: true, Reasoning: true, Cache: true, Thinking: thinking,
		USDPerMIn: in, USDPerMOut: out, USDPerMCached: read, USDPerMWrite: write}
}

// gpt is what OpenAI's current models have in common: prompts beyond 272,000
// tokens cost twice as much, their replies one and a half times. The window is
// that of the prompt: the output has its own room.
func gpt(in, out, read float64) model.Caps {
	return model.Caps{ContextWindow: 922_000, OutputLimit: 128_000, Tools: true, Images: true, Reasoning: true, Cache: true,
		USDPerMIn: in, USDPerMOut: out, USDPerMCached: read, USDPerMWrite: 1.25 * in, LongPrompt: 272_000, LongIn: 2, LongOut: 1.5}
}

// but changes a row's caps.
func but(c model.Caps, change func(*model.Caps)) model.Caps {
	change(&c)
	return c
}

// Over chat completions these models call tools only without reasoning.
func quiet(c *model.Caps) { c.Effort = "none" }

// And these not at all: they want another API, which we don't speak.
func toolless(c *model.Caps) { c.Tools = false }

const m1 = 1_000_000

var knownModels = []knownModel{
	{"anthropic/claude-fable-5-1", true, claude(m1, 128_000, model.ThinkingAlways, 10, 50, 0.25, 12.5)},
	{"anthropic/claude-opus-5-5", true, claude(m1, 128_000, model.ThinkingAlways, 4, 20, 0.20, 5)},
	{"anthropic/claude-sonnet-5-5", true, claude(m1, 128_000, model.ThinkingAdaptive, 2, 10, 0.10, 2.5)},
	{"anthropic/claude-haiku-5-5", true, but(claude(m1, 128_000, model.ThinkingAdaptive, 0.10, 0.50, 0.01, 0.125), func(c *model.Caps) {
		c.LongPrompt, c.LongIn, c.LongOut = 100_000, 5, 5
	})},
	{"anthropic/claude-opus-5", false, claude(m1, 128_000, model.ThinkingAdaptive, 5, 25, 0.50, 6.25)},
	{"anthropic/claude-sonnet-5", false, claude(m1, 128_000, model.ThinkingAdaptive, 2, 10, 0.20, 2.5)},
	{"anthropic/claude-opus-4-6", false, claude(200_000, 64_000, "", 5, 25, 0.50, 6.25)},
	{"anthropic/claude-opus-4-5", false, claude(200_000, 64_000, "", 5, 25, 0.50, 6.25)},
	{"anthropic/claude-sonnet-4-6", false, claude(200_000, 64_000, "", 3, 15, 0.30, 3.75)},
	{"anthropic/claude-sonnet-4-5", false, claude(200_000, 64_000, "", 3, 15, 0.30, 3.75)},
	{"anthropic/claude-haiku-4-5", false, claude(200_000, 64_000, "", 1, 5, 0.10, 1.25)},

	{"openai/gpt-6-sol", true, but(gpt(2, 10, 0.20), quiet)},
	{"openai/gpt-6-luna", true, but(gpt(0.10, 0.50, 0.01), quiet)},
	{"openai/gpt-6.2-sol", true, but(gpt(2, 10, 0.10), toolless)},
	{"openai/gpt-6.2-astra", true, but(gpt(8, 40, 0.40), toolless)},
	{"openai/gpt-6.1-sol", false, but(gpt(2, 10, 0.10), toolless)},
	{"openai/gpt-6-astra", false, but(gpt(10, 50, 1), toolless)},
	{"openai/gpt-5.6-sol", false, gpt(4, 20, 0.40)},
	{"openai/gpt-5.6-terra", false, gpt(2, 12, 0.20)},
	{"openai/gpt-5.6-luna", false, gpt(0.20, 1.20, 0.02)},
	{"openai/gpt-5.1", false, model.Caps{ContextWindow: 400_000, OutputLimit: 128_000, Tools: true, Images: true, Reasoning: true, Cache: true, USDPerMIn: 1.25, USDPerMOut: 10, USDPerMCached: 0.125}},
	{"openai/gpt-5", false, model.Caps{ContextWindow: 400_000, OutputLimit: 128_000, Tools: true, Images: true, Reasoning: true, Cache: true, USDPerMIn: 1.25, USDPerMOut: 10, USDPerMCached: 0.125}},
	{"openai/gpt-4.1", false, model.Caps{ContextWindow: 1_047_576, OutputLimit: 32_768, Tools: true, Images: true, Cache: true, USDPerMIn: 2, USDPerMOut: 8, USDPerMCached: 0.5}},
	{"openai/gpt-4o", false, model.Caps{ContextWindow: 128_000, OutputLimit: 16_384, Tools: true, Images: true, Cache: true, USDPerMIn: 2.5, USDPerMOut: 10, USDPerMCached: 1.25}},

	{"groq/llama-3.3-70b-versatile", true, model.Caps{ContextWindow: 131_072, OutputLimit: 32_768, Tools: true, USDPerMIn: 0.59, USDPerMOut: 0.79}},
	{"groq/llama-3.1-8b-instant", true, model.Caps{ContextWindow: 131_072, OutputLimit: 131_072, Tools: true, USDPerMIn: 0.05, USDPerMOut: 0.08}},
	{"groq/openai/gpt-oss-120b", true, model.Caps{ContextWindow: 131_072, OutputLimit: 65_536, Tools: true, Reasoning: true, USDPerMIn: 0.15, USDPerMOut: 0.60}},
	{"groq/openai/gpt-oss-20b", true, model.Caps{ContextWindow: 131_072, OutputLimit: 65_536, Tools: true, Reasoning: true, USDPerMIn: 0.075, USDPerMOut: 0.30}},
}

// known is a model's row of the table. A name may have a date at its end, as
// claude-haiku-4-5-20251001 or gpt-5.1-2025-11-13 have.
func known(name string) (model.Caps, bool) {
	for _, k := range knownModels {
		rest, ok := strings.CutPrefix(name, k.name)
		if ok && (rest == "" || rest == "-latest" || isDate(rest)) {
			return k.caps, true
		}
	}
	return model.Caps{}, false
}

// isDate says whether s is -20251001 or -2025-10-01.
func isDate(s string) bool {
	digits := strings.ReplaceAll(s, "-", "")
	return strings.HasPrefix(s, "-20") && len(digits) == len("20251001") && strings.Trim(digits, "0123456789") == ""
}

// builtinAliases are the names that people say; a person's own aliases come
// before them.
var builtinAliases = map[string]string{
	"haiku":  "anthropic/claude-haiku-5-5",
	"sonnet": "anthropic/claude-sonnet-5-5",
	"opus":   "anthropic/claude-opus-5-5",
	"fable":  "anthropic/claude-fable-5-1",
}

// sizes are what the aliases small and large mean beside a provider's models.
var sizes = map[string]struct{ small, large string }{
	"anthropic": {"anthropic/claude-haiku-5-5", "anthropic/claude-opus-5-5"},
	"openai":    {"openai/gpt-6-luna", "openai/gpt-6-sol"},
	"groq":      {"groq/llama-3.1-8b-instant", "groq/openai/gpt-oss-120b"},
}
