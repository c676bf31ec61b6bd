package tools

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// secretVariable matches names of environment variables that hold credentials.
var secretVariable = regexp.MustCompile(`(?i)(^|_)(API_?KEYS?|KEYS?|KEY_?ID|TOKENS?|SECRETS?|PASS|PASSWD|PASSWORDS?|PASSPHRASE|CREDENTIALS?|CREDS|AUTH|AUTHORIZATION|PRIVATE|PAT|JWT|COOKIE|SESSION_?ID|DSN|WEBHOOK|SIGNATURE)($|_)|APIKEY|SECRET|PASSWORD|TOKEN$`)

// secretPrefixes are of variables that belong to services with credentials, or
// that lead to a key agent, a bus or a daemon outside the sandbox.
var secretPrefixes = []string{
	"ANTHROPIC_", "OPENAI_", "GROQ_", "GEMINI_", "GOOGLE_", "MISTRAL_", "COHERE_", "OPENROUTER_", "DEEPSEEK_", "XAI_", "AZURE_", "AWS_", "GCP_",
	"CLOUDFLARE_", "DIGITALOCEAN_", "HEROKU_", "STRIPE_", "TWILIO_", "VAULT_", "KUBECONFIG", "DOCKER_", "SSH_", "GPG_", "DBUS_", "XDG_RUNTIME_DIR",
	"GITHUB_", "GITLAB_", "NPM_CONFIG__", "PGPASS", "AGENT_LSP_", "LD_", "DYLD_", "BASH_ENV", "BASH_FUNC_", "ENV", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "PS4", "IFS",
}

// secretValue matches values that are keys whatever their variable is called.
var secretValue = regexp.MustCompile(`(^|[^A-Za-z0-9])(sk-[A-Za-z0-9_-]{8,}|sk_(live|test)_|gsk_[A-Za-z0-9]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_|glpat-|xox[abprs]-|AKIA[0-9A-Z]{12,}|ASIA[0-9A-Z]{12,}|AIza[0-9A-Za-z_-]{20,}|eyJ[A-Za-z0-9_-]{10,}\.|npm_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{16,}|-----BEGIN )|://[^/@\s]+:[^/@\s]+@`)

// secretsMin is the length below which a known secret isn't looked for in
// values: "1" would remove half the environment.
const secretsMin = 6

// CleanEnvironment leaves out variables that hold credentials or that change
// how bash starts, and sets those that keep programs from asking a person. The
// result is sorted.
func CleanEnvironment(environ, secrets []string) []string {
	var out []string
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != "" && !secretEnvironment(name, value, secrets) {
			out = setenv(out, name, value)
		}
	}
	for _, kv := range []string{
		"GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "PAGER=cat", "MANPAGER=cat", "GIT_EDITOR=true", "EDITOR=true", "VISUAL=true", "GIT_ASKPASS=true",
		"DEBIAN_FRONTEND=noninteractive", "PIP_NO_INPUT=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "npm_config_yes=true", "npm_config_update_notifier=false",
		"HOMEBREW_NO_AUTO_UPDATE=1", "TERM=dumb", "NO_COLOR=1",
	} {
		name, value, _ := strings.Cut(kv, "=")
		out = setenv(out, name, value)
	}
	slices.Sort(out)
	return out
}

func secretEnvironment(name, value string, secrets []string) bool {
	if name == "SSH_ASKPASS" || name == "KEYTIMEOUT" {
		return true
	}
	if secretVariable.MatchString(name) || secretValue.MatchString(value) {
		return true
	}
	upper := strings.ToUpper(name)
	for _, p := range secretPrefixes {
		if upper == p || strings.HasPrefix(upper, p) && strings.HasSuffix(p, "_") || upper == strings.TrimSuffix(p, "_") {
			return true
		}
	}
	for _, s := range secrets {
		if len(s) >= secretsMin && strings.Contains(value, s) {
			return true
		}
	}
	return false
}

// setenv replaces or adds one variable.
func setenv(env []string, name, value string) []string {
	for i, kv := range env {
		if strings.HasPrefix(kv, name+"=") {
			env[i] = name + "=" + value
			return env
		}
	}
	return append(env, name+"="+value)
}

// getenv gives a variable's value, "" where it isn't set.
func getenv(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// HiddenByDefault gives the places where credentials are kept, which commands
// in the sandbox can't read.
func HiddenByDefault() []string {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	var out []string
	for _, p := range []string{
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".git-credentials", ".npmrc", ".pypirc", ".password-store", ".vault-token",
		".config/gh", ".config/gcloud", ".config/agent-lsp", ".config/git/credentials", ".local/state/agent-lsp", ".local/share/keyrings", ".mozilla",
		".config/google-chrome", ".config/chromium", ".bash_history", ".zsh_history", ".claude", ".codex",
	} {
		out = append(out, filepath.Join(home, filepath.FromSlash(p)))
	}
	return out
}
