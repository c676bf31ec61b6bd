package workspace

import (
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// IsSecret says whether a path looks like it holds credentials, by its name.
func IsSecret(p string) bool { return text.SecretPath(p) }

func set(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}
