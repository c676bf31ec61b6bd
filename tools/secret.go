package tools

import (
	"path"
	"slices"
	"strings"
)

// secretNames are files that hold credentials by custom.
var secretNames = []string{
	".env", ".envrc", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".dockercfg", ".s3cfg",
	"credentials", "credentials.json", "credentials.toml", "credentials.yml", "credentials.yaml", "secrets.json", "secrets.yml", "secrets.yaml",
	"secrets.toml", "secret.json", "secret.yml", "secret.yaml", "service-account.json", "application_default_credentials.json",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "known_hosts", "authorized_keys", "shadow", "gshadow", "master.key", "token", ".token", "kubeconfig", ".vault-token", "terraform.tfstate",
}

var secretSuffixes = []string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".asc", ".gpg", ".age", ".tfvars", ".secret"}

// secretFolders hold nothing else.
var secretFolders = []string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", "gcloud", ".docker"}

// harmlessEnv are examples that are meant to be read and committed.
var harmlessEnv = []string{"example", "sample", "template", "dist", "defaults"}

// SecretPath says whether a path looks like a credential by its name. It is a
// guess by custom, made to ask once too often rather than once too seldom.
func SecretPath(p string) bool {
	p = strings.ToLower(strings.ReplaceAll(p, "\\", "/"))
	base := path.Base(p)
	if base == ".env" || strings.HasPrefix(base, ".env.") || strings.HasSuffix(base, ".env") {
		last := base[strings.LastIndexByte(base, '.')+1:]
		return !slices.Contains(harmlessEnv, last)
	}
	if strings.HasSuffix(base, ".pub") {
		return false
	}
	if slices.Contains(secretNames, base) {
		return true
	}
	for _, s := range secretSuffixes {
		if strings.HasSuffix(base, s) && !strings.HasSuffix(base, "_test"+s) {
			return true
		}
	}
	for part := range strings.SplitSeq(path.Dir(p)+"/"+base, "/") {
		if slices.Contains(secretFolders, part) {
			return true
		}
	}
	return strings.Contains(p, "/proc/") && (base == "environ" || base == "mem")
}

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
