package agent

import (
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
)

// Settings are the engine's own. Their zero values mean the defaults below.
type Settings struct {
	Model          string         `toml:"model" json:"model"`
	StepsMax       int            `toml:"steps_max" json:"steps_max"`
	Budget         cycle.Budget   `toml:"-" json:"budget,omitzero"` // of a run; zero parts have no limit
	RunsMax        int            `toml:"runs_max" json:"runs_max"`
	AutoDelivery   cycle.Delivery `toml:"delivery" json:"delivery"`
	Edits          string         `toml:"edits" json:"edits"` // review, ask
	PermissionSecs int            `toml:"permission_timeout" json:"permission_timeout"`
	EvidenceTokens int            `toml:"evidence_tokens" json:"evidence_tokens"`
	OutputBytes    int            `toml:"output_bytes" json:"output_bytes"`
	Check          string         `toml:"check" json:"check"` // a command that says what is wrong
	Allow          []string       `toml:"allow" json:"allow"`
	Ask            []string       `toml:"ask" json:"ask"`
	Deny           []string       `toml:"deny" json:"deny"`
	// What is switched off; nil is on.
	EnableCommands  *bool `toml:"enableCommands" json:"enableCommands"`
	EnablePrompts   *bool `toml:"enablePrompts" json:"enablePrompts"`
	EnableWorkflows *bool `toml:"enableWorkflows" json:"enableWorkflows"`
	Memory          *bool `toml:"memory" json:"memory"`
}

// Defaults of the settings.
const (
	stepsMaxDefault       = 40
	permissionWaitDefault = 10 * time.Minute
	evidenceTokensDefault = 6000
	outputBytesDefault    = 16 << 10
	batchMax              = 8  // tool calls that run at once
	deltaEvery            = 33 // milliseconds between two streamed pieces of a run
	reserveOutputDefault  = 4000
	evidenceShareMax      = 6 // a turn's evidence is at most a sixth of a small window's prompt; see TestEvidenceLeavesRoom
	reserveShareMax       = 4 // the reserve for output is at most a quarter of a small window
)

func (s Settings) stepsMax() int {
	if s.StepsMax > 0 {
		return s.StepsMax
	}
	return stepsMaxDefault
}

func (s Settings) runsMax() int {
	if s.RunsMax > 0 {
		return s.RunsMax
	}
	return run.SlotsDefault
}

func (s Settings) permissionWait() time.Duration {
	if s.PermissionSecs > 0 {
		return time.Duration(s.PermissionSecs) * time.Second
	}
	return permissionWaitDefault
}

func (s Settings) evidenceTokens() int {
	if s.EvidenceTokens > 0 {
		return s.EvidenceTokens
	}
	return evidenceTokensDefault
}

func (s Settings) outputBytes() int {
	if s.OutputBytes > 0 {
		return s.OutputBytes
	}
	return outputBytesDefault
}
