// Package config reads the settings: defaults, the user's file, the
// workspace's file, the editor's settings, the environment; later wins.
//
// # What it does
//
// Load merges the five sources and remembers where each value came from.
//
// # What it doesn't do
//
// It holds no API key: keys stay in the environment and are read by the
// adapters alone. It doesn't decide permissions; it only carries the rules.
//
// # Invariants
//
//   - CONFIG-1 A workspace's file can narrow, never widen: its allow rules,
//     provider addresses and commands are left out, with a warning, until the
//     person trusts the workspace. TestWorkspaceNeverWidens.
//   - CONFIG-2 An unknown or malformed setting is an error that names the file
//     and the key. TestBadSettings, FuzzParse.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// File is one file of settings, and the shape of the editor's settings too.
// Every field may be absent.
type File struct {
	// Model is provider/name or an alias; absent: the first available one.
	Model string `toml:"model,omitempty" json:"model,omitempty"`
	// StepsMax is how many iterations a run may take.
	StepsMax int `toml:"steps_max,omitempty" json:"steps_max,omitempty"`
	// BudgetTokens, BudgetUSD and BudgetSeconds are what one run may use up;
	// absent: no limit. A workspace can only lower them.
	BudgetTokens  int     `toml:"budget_tokens,omitempty" json:"budget_tokens,omitempty"`
	BudgetUSD     float64 `toml:"budget_usd,omitempty" json:"budget_usd,omitempty"`
	BudgetSeconds int     `toml:"budget_seconds,omitempty" json:"budget_seconds,omitempty"`
	// RunsMax is how many runs may be active at once.
	RunsMax int `toml:"runs_max,omitempty" json:"runs_max,omitempty"`
	// Delivery is what a message is while a run is active: steer or followUp.
	Delivery string `toml:"delivery,omitempty" json:"delivery,omitempty"`
	// Edits is how edits land: review (at once, as pending hunks) or ask.
	Edits string `toml:"edits,omitempty" json:"edits,omitempty"`
	// PermissionTimeout is for how many seconds a question waits; then it is no.
	PermissionTimeout int `toml:"permission_timeout,omitempty" json:"permission_timeout,omitempty"`
	// EvidenceTokens is how much retrieved text a plan may hold for a turn.
	EvidenceTokens int `toml:"evidence_tokens,omitempty" json:"evidence_tokens,omitempty"`
	// OutputBytes is the longest tool result that goes to the model whole.
	OutputBytes int `toml:"output_bytes,omitempty" json:"output_bytes,omitempty"`
	// Check is a command that says what is wrong with the workspace, run after
	// edits where no editor reports problems. It runs commands, so only the
	// user's own file sets it.
	Check string `toml:"check,omitempty" json:"check,omitempty"`
	// EnableCommands, EnablePrompts and EnableWorkflows switch the handler of a
	// kind of input off. Memory = false: nothing is remembered between turns
	// but the conversation itself.
	EnableCommands  *bool `toml:"enableCommands,omitempty" json:"enableCommands,omitempty"`
	EnablePrompts   *bool `toml:"enablePrompts,omitempty" json:"enablePrompts,omitempty"`
	EnableWorkflows *bool `toml:"enableWorkflows,omitempty" json:"enableWorkflows,omitempty"`
	Memory          *bool `toml:"memory,omitempty" json:"memory,omitempty"`
	// Permissions are rules of the form tool(pattern).
	Permissions Permissions `toml:"permissions,omitempty" json:"permissions,omitzero"`
	// Aliases name models: opus = "anthropic/…".
	Aliases map[string]string `toml:"aliases,omitempty" json:"aliases,omitempty"`
	// Providers are servers that speak chat completions, by name.
	Providers map[string]Provider `toml:"providers,omitempty" json:"providers,omitempty"`
	// Models overrides what is known of a model, by provider/name.
	Models map[string]Model `toml:"models,omitempty" json:"models,omitempty"`
	// MCP are servers of tools, by name. They run commands, so only the user's
	// own file sets them: an editor's settings may come from the workspace.
	MCP map[string]MCP `toml:"mcp,omitempty" json:"mcp,omitempty"`
}

// MCP is a server of the Model Context Protocol: either a command or an
// address.
type MCP struct {
	Command string `toml:"command,omitempty" json:"command,omitempty"`
	// Args may hold ${workspace}, which stands for the workspace's folder.
	Args []string `toml:"args,omitempty" json:"args,omitempty"`
	// Env are variables that are set for the command.
	Env map[string]string `toml:"env,omitempty" json:"env,omitempty"`
	// PassEnv are variables of ours that the command gets although they may
	// hold credentials; all others that may are kept from it.
	PassEnv []string `toml:"pass_env,omitempty" json:"pass_env,omitempty"`
	URL     string   `toml:"url,omitempty" json:"url,omitempty"`
	// BearerEnv is the environment variable that holds the token for URL.
	BearerEnv string `toml:"bearer_env,omitempty" json:"bearer_env,omitempty"`
	// Timeout is how long one call may take, in seconds.
	Timeout int `toml:"timeout,omitempty" json:"timeout,omitempty"`
	// Off keeps the server from being started.
	Off bool `toml:"off,omitempty" json:"off,omitempty"`
}

// Permissions are rules; deny wins, then the most specific.
type Permissions struct {
	Allow []string `toml:"allow,omitempty" json:"allow,omitempty"`
	Ask   []string `toml:"ask,omitempty" json:"ask,omitempty"`
	Deny  []string `toml:"deny,omitempty" json:"deny,omitempty"`
}

// Provider is a server of models.
type Provider struct {
	BaseURL string `toml:"base_url,omitempty" json:"base_url,omitempty"`
	// KeyEnv is the environment variable that holds the key.
	KeyEnv string `toml:"key_env,omitempty" json:"key_env,omitempty"`
	// API is what the server speaks: openai (chat completions), which is the
	// default, or anthropic (messages).
	API string `toml:"api,omitempty" json:"api,omitempty"`
}

// Model is what the person says of a model; zero values leave what is known.
type Model struct {
	ContextWindow int     `toml:"context_window,omitempty" json:"context_window,omitempty"` // tokens
	OutputLimit   int     `toml:"output_limit,omitempty" json:"output_limit,omitempty"`     // tokens
	Tools         *bool   `toml:"tools,omitempty" json:"tools,omitempty"`
	Images        *bool   `toml:"images,omitempty" json:"images,omitempty"`
	USDPerMIn     float64 `toml:"usd_per_m_in,omitempty" json:"usd_per_m_in,omitempty"`
	USDPerMOut    float64 `toml:"usd_per_m_out,omitempty" json:"usd_per_m_out,omitempty"`
	USDPerMCached float64 `toml:"usd_per_m_cached,omitempty" json:"usd_per_m_cached,omitempty"` // of input read from a cache
	USDPerMWrite  float64 `toml:"usd_per_m_write,omitempty" json:"usd_per_m_write,omitempty"`   // of input written to one
	// Thinking is how reasoning is asked for: adaptive, always or off.
	Thinking string `toml:"thinking,omitempty" json:"thinking,omitempty"`
	// Effort is how much of it, in the provider's own words: low, medium, high.
	Effort string `toml:"effort,omitempty" json:"effort,omitempty"`
	// BaseURL, KeyEnv and API are over those of the provider.
	BaseURL string `toml:"base_url,omitempty" json:"base_url,omitempty"`
	KeyEnv  string `toml:"key_env,omitempty" json:"key_env,omitempty"`
	API     string `toml:"api,omitempty" json:"api,omitempty"`
}

func (m Model) check() error {
	switch {
	case m.ContextWindow < 0 || m.OutputLimit < 0:
		return errors.New("context_window and output_limit must not be negative")
	case m.USDPerMIn < 0 || m.USDPerMOut < 0 || m.USDPerMCached < 0 || m.USDPerMWrite < 0:
		return errors.New("prices must not be negative")
	}
	return errors.Join(oneOf("thinking", m.Thinking, "adaptive", "always", "off"), oneOf("api", m.API, "openai", "anthropic"))
}

// Config is the merged settings.
type Config struct {
	File
	// Sources says where a setting came from, by its key.
	Sources map[string]string
	// Warnings say what was left out, and why.
	Warnings []string
}

// WorkspaceName is the workspace's file.
const WorkspaceName = ".agent-lsp.toml"

// fileMax bounds a file of settings.
const fileMax = 1 << 20

// UserPath is the user's file.
func UserPath() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "agent-lsp", "config.toml")
}

// Load merges all sources for a workspace. editor is the editor's settings as
// JSON; nil if there are none.
func Load(root string, editor []byte) (Config, error) {
	c := Config{Sources: map[string]string{}}
	if path := UserPath(); path != "" {
		if err := c.file(path, path, true); err != nil {
			return c, err
		}
	}
	if err := c.file(filepath.Join(root, WorkspaceName), WorkspaceName, false); err != nil {
		return c, err
	}
	if len(editor) > 0 && string(editor) != "null" {
		var f File
		dec := json.NewDecoder(bytes.NewReader(editor))
		if err := dec.Decode(&f); err != nil {
			return c, fmt.Errorf("the editor's settings can't be read: %w", err)
		}
		if len(f.MCP) > 0 {
			f.MCP = nil
			c.Warnings = append(c.Warnings, "the editor: mcp left out: servers run commands, and an editor's settings may come from the workspace; put them into "+UserPath())
		}
		if f.Check != "" {
			f.Check = ""
			c.Warnings = append(c.Warnings, "the editor: check left out: it runs a command, and an editor's settings may come from the workspace; put it into "+UserPath())
		}
		if err := c.merge(f, "the editor", true); err != nil {
			return c, err
		}
	}
	return c, c.merge(File{Model: os.Getenv("AGENT_LSP_MODEL"), Edits: os.Getenv("AGENT_LSP_EDITS")}, "the environment", true)
}

func (c *Config) file(path, name string, trusted bool) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the settings can't be read: %w", err)
	}
	f, err := Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return c.merge(f, name, trusted)
}

// Parse reads one file of settings, strictly.
func Parse(data []byte) (File, error) {
	var f File
	if len(data) > fileMax {
		return f, fmt.Errorf("it is larger than %d bytes", fileMax)
	}
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		var unknown *toml.StrictMissingError
		if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
			row, _ := unknown.Errors[0].Position()
			return f, fmt.Errorf("line %d: unknown setting %s; docs/settings.md lists them", row, strings.Join(unknown.Errors[0].Key(), "."))
		}
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			row, col := bad.Position()
			return f, fmt.Errorf("line %d, column %d: %s", row, col, bad.Error())
		}
		return f, err
	}
	return f, f.check()
}

func (f File) check() error {
	notNegative := map[string]int{"steps_max": f.StepsMax, "runs_max": f.RunsMax, "permission_timeout": f.PermissionTimeout,
		"evidence_tokens": f.EvidenceTokens, "output_bytes": f.OutputBytes,
		"budget_tokens": f.BudgetTokens, "budget_seconds": f.BudgetSeconds}
	for _, key := range []string{"steps_max", "runs_max", "permission_timeout", "evidence_tokens", "output_bytes", "budget_tokens", "budget_seconds"} {
		if notNegative[key] < 0 {
			return fmt.Errorf("%s must not be negative", key)
		}
	}
	if f.BudgetUSD < 0 {
		return errors.New("budget_usd must not be negative")
	}
	for _, name := range slices.Sorted(maps.Keys(f.MCP)) {
		if err := f.MCP[name].check(); err != nil {
			return fmt.Errorf("mcp.%s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Models)) {
		if err := f.Models[name].check(); err != nil {
			return fmt.Errorf("models.%q: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Providers)) {
		if err := oneOf("api", f.Providers[name].API, "openai", "anthropic"); err != nil {
			return fmt.Errorf("providers.%s: %w", name, err)
		}
	}
	return errors.Join(oneOf("edits", f.Edits, "review", "ask"), oneOf("delivery", f.Delivery, "steer", "followUp"))
}

func oneOf(key, value string, allowed ...string) error {
	if value != "" && !slices.Contains(allowed, value) {
		return fmt.Errorf("%s is %q; it must be %s", key, value, strings.Join(allowed, " or "))
	}
	return nil
}

// mcpTimeoutMax is the longest that one call may be allowed to take, in seconds.
const mcpTimeoutMax = 3600

func (m MCP) check() error {
	switch {
	case (m.Command == "") == (m.URL == ""):
		return errors.New("give either command or url")
	case m.URL != "" && (len(m.Args) > 0 || len(m.Env) > 0 || len(m.PassEnv) > 0):
		return errors.New("args, env and pass_env are for a command, not for a url")
	case m.Command != "" && m.BearerEnv != "":
		return errors.New("bearer_env is for a url, not for a command")
	case m.Timeout < 0 || m.Timeout > mcpTimeoutMax:
		return fmt.Errorf("timeout must be between 0 and %d seconds", mcpTimeoutMax)
	}
	return nil
}

// merge lays a file over what is there. A source that is not trusted can only
// narrow.
func (c *Config) merge(f File, source string, trusted bool) error {
	if err := f.check(); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	if !trusted {
		c.narrow(&f, source)
	}
	text := func(key string, into *string, v string) {
		if v != "" {
			*into, c.Sources[key] = v, source
		}
	}
	number := func(key string, into *int, v int) {
		if v != 0 {
			*into, c.Sources[key] = v, source
		}
	}
	text("model", &c.Model, f.Model)
	text("delivery", &c.Delivery, f.Delivery)
	text("edits", &c.Edits, f.Edits)
	text("check", &c.Check, f.Check)
	number("steps_max", &c.StepsMax, f.StepsMax)
	number("budget_tokens", &c.BudgetTokens, f.BudgetTokens)
	number("budget_seconds", &c.BudgetSeconds, f.BudgetSeconds)
	if f.BudgetUSD != 0 {
		c.BudgetUSD, c.Sources["budget_usd"] = f.BudgetUSD, source
	}
	number("runs_max", &c.RunsMax, f.RunsMax)
	number("permission_timeout", &c.PermissionTimeout, f.PermissionTimeout)
	number("evidence_tokens", &c.EvidenceTokens, f.EvidenceTokens)
	number("output_bytes", &c.OutputBytes, f.OutputBytes)
	flag := func(key string, into **bool, v *bool) {
		if v != nil {
			*into, c.Sources[key] = v, source
		}
	}
	flag("enableCommands", &c.EnableCommands, f.EnableCommands)
	flag("enablePrompts", &c.EnablePrompts, f.EnablePrompts)
	flag("enableWorkflows", &c.EnableWorkflows, f.EnableWorkflows)
	flag("memory", &c.Memory, f.Memory)
	c.Permissions.Allow = append(c.Permissions.Allow, f.Permissions.Allow...)
	c.Permissions.Ask = append(c.Permissions.Ask, f.Permissions.Ask...)
	c.Permissions.Deny = append(c.Permissions.Deny, f.Permissions.Deny...)
	c.Aliases = lay(c.Aliases, f.Aliases)
	c.Providers = lay(c.Providers, f.Providers)
	c.Models = lay(c.Models, f.Models)
	c.MCP = lay(c.MCP, f.MCP)
	return nil
}

// narrow leaves out what would give a workspace more than it has.
func (c *Config) narrow(f *File, source string) {
	drop := func(what string) {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %s left out: a workspace's own file can only narrow what is allowed", source, what))
	}
	if len(f.Permissions.Allow) > 0 {
		drop("permissions.allow")
		f.Permissions.Allow = nil
	}
	if len(f.Providers) > 0 {
		drop("providers")
		f.Providers = nil
	}
	if len(f.Models) > 0 { // addresses would get keys and code; prices and windows are what budgets count with
		drop("models")
		f.Models = nil
	}
	if len(f.MCP) > 0 {
		drop("mcp")
		f.MCP = nil
	}
	if f.Check != "" {
		drop("check")
		f.Check = ""
	}
	if len(f.Aliases) > 0 {
		drop("aliases")
		f.Aliases = nil
	}
	if c.BudgetTokens > 0 {
		f.BudgetTokens = min(f.BudgetTokens, c.BudgetTokens)
	}
	if c.BudgetSeconds > 0 {
		f.BudgetSeconds = min(f.BudgetSeconds, c.BudgetSeconds)
	}
	if c.BudgetUSD > 0 {
		f.BudgetUSD = min(f.BudgetUSD, c.BudgetUSD)
	}
	for _, s := range []struct {
		key   string
		value **bool
	}{{"enableCommands", &f.EnableCommands}, {"enablePrompts", &f.EnablePrompts}, {"enableWorkflows", &f.EnableWorkflows}, {"memory", &f.Memory}} {
		if *s.value != nil && **s.value {
			drop(s.key + " = true")
			*s.value = nil
		}
	}
	if f.Edits == "review" {
		drop("edits = review")
		f.Edits = ""
	}
	if f.PermissionTimeout != 0 {
		drop("permission_timeout")
		f.PermissionTimeout = 0
	}
}

func lay[V any](under, over map[string]V) map[string]V {
	if len(over) == 0 {
		return under
	}
	out := make(map[string]V, len(under)+len(over))
	for k, v := range under {
		out[k] = v
	}
	for k, v := range over {
		out[k] = v
	}
	return out
}
