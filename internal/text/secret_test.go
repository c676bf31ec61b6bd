package text_test

import (
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

func TestSecretPath(t *testing.T) {
	for p, want := range map[string]bool{
		".env": true, "a/.env": true, ".env.local": true, "prod.env": true, ".ENV": true, ".envrc": true,
		".env.example": false, "env.go": false, "environment.ts": false, "src/env/index.ts": false,
		"server.pem": true, "tls/private.key": true, "x.p12": true, "id_rsa": true, "id_rsa.pub": false, "id_ed25519": true,
		"keyboard.go": false, "monkey.py": false, "key.go": false, "keys.md": false,
		".ssh/known_hosts": true, "home/.aws/config": true, ".npmrc": true, ".netrc": true, ".git-credentials": true,
		"credentials": true, "credentials.json": true, "credentials.go": false, "Credentials.tsx": false, "client_secret.json": true,
		"secrets.yml": true, "secrets.go": false, "secret_test.py": false, "tokens.json": true, "token.go": false, "tokenizer.json": false,
		"service-account-prod.json": true, "terraform.tfstate": true, "prod.tfvars": true, ".docker/config.json": true,
		"a/.env.local": true, "a/.ssh/config": true, "/proc/1/environ": true, "proc/mem.go": false, ".AWS/x": true, `a\.env`: true, "a_test.key": true,
		"gshadow": true, "x.age": true, "home/.config/gcloud/legacy/x.db": true, ".docker/Dockerfile": false, "gcloud/main.go": false, ".ssh": true,
		"go/token": false, ".env.": true, ".env ": true, "..": false, ".": false, "a/..": false, "a.": false,
		// What only looks like another name, or is one for some file system.
		".e\u200bnv": true, ".env\u202e": true, "\uff0eenv": true, ".env::$DATA": true, "id_rsa.": true, ".ｅｎｖ": true, "a\u2215.env": true, ".\u00adenv": true,
		"config.json": false, ".kube/config": true, "a\\.ssh\\id": true, "passwords.txt": true, "password.go": false,
	} {
		if got := text.SecretPath(p); got != want {
			t.Errorf("SecretPath(%q) = %v, want %v", p, got, want)
		}
	}
}

func TestDeceptive(t *testing.T) {
	for p, want := range map[string]bool{
		"a.go": false, "dir/ä.go": false, "日本/資料（二）.md": false, "a:b.3pm": false, ".": false, "a b/c.d": false, ".gitignore": false, "..": false,
		"a\u202egnp.exe": true, ".\u200bgit": true, "．．／x": true, "a\u2215b": true, "x ": true, "x.": true, "d./x": true, "a\tb": true, "a\x1b[2J": true, "\ufeffx": true,
	} {
		if got := text.Deceptive(p); got != want {
			t.Errorf("Deceptive(%q) = %v", p, got)
		}
	}
}

// FuzzSecretPath: any name has an answer, and one that is made of others by
// what can't be seen has theirs.
func FuzzSecretPath(f *testing.F) {
	f.Add("a/.env", "\u200b")
	f.Add("x", ":")
	f.Fuzz(func(t *testing.T, p, hidden string) {
		if text.SecretPath(p) && hidden == "\u200b" && !text.SecretPath(p+hidden) {
			t.Errorf("%q is a secret, and with %q no more", p, hidden)
		}
		_ = text.SecretPath(p + hidden)
	})
}
