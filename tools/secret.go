package tools

import (
	"path"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// SecretPath says whether a path looks like a credential by its name.
func SecretPath(p string) bool { return text.SecretPath(p) }

// mayBeSecret is SecretPath for a word that may be a glob.
func mayBeSecret(word string) bool {
	if SecretPath(word) {
		return true
	}
	if !strings.ContainsAny(word, "*?[") {
		return false
	}
	bare := strings.NewReplacer("*", "", "?", "", "[", "", "]", "").Replace(word)
	base := path.Base(word)
	return SecretPath(bare) || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "id_") || strings.HasPrefix(base, "[.")
}
