package workspace

import (
	"path"
	"strings"
)

// IsSecret says whether a path looks like it holds credentials: environment files,
// private keys, key stores, the credential files of well-known tools. It goes by the
// name alone, ignores case, and would rather say yes. Such files are never indexed,
// summarised or sent, and need permission to be read.
func IsSecret(p string) bool {
	p = strings.ToLower(strings.ReplaceAll(p, "\\", "/"))
	dir, base := path.Split(p)
	if secretSample(base) {
		return false
	}
	if secretNames[base] || secretExts[path.Ext(base)] {
		return true
	}
	if base == ".env" || base == ".envrc" || strings.HasPrefix(base, ".env.") || strings.HasSuffix(base, ".env") {
		return true
	}
	for _, pre := range secretPrefixes {
		if strings.HasPrefix(base, pre) {
			return true
		}
	}
	if stem := strings.TrimSuffix(base, path.Ext(base)); secretStems[stem] && dataExts[path.Ext(base)] {
		return true
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if secretDirs[part] {
			return true
		}
	}
	return strings.HasSuffix(dir, ".docker/") && base == "config.json" ||
		strings.HasSuffix(dir, ".kube/") && base == "config" ||
		strings.HasSuffix(dir, ".config/gcloud/") ||
		strings.HasSuffix(dir, ".config/gh/") && base == "hosts.yml"
}

// secretSample lets the templates through that projects keep for newcomers.
func secretSample(base string) bool {
	for _, s := range []string{".example", ".sample", ".template", ".dist", ".pub"} {
		if strings.HasSuffix(base, s) {
			return true
		}
	}
	return strings.HasPrefix(base, "example.env") || strings.HasPrefix(base, "sample.env")
}

func set(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

var (
	secretNames = set(`.netrc _netrc .pgpass .npmrc .yarnrc.yml .pypirc .htpasswd .git-credentials .dockercfg .s3cfg .boto .my.cnf
		.vault-token .terraformrc terraform.rc id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk credentials shadow
		master.key secrets.yml secrets.yaml secrets.json secrets.toml .secrets .secret auth.json .authinfo .authinfo.gpg .mailrc
		wp-config.php.bak terraform.tfstate terraform.tfstate.backup logins.json key4.db kubeconfig`)
	secretExts = set(`.pem .key .p12 .pfx .jks .keystore .kdbx .ppk .asc .gpg .p8 .pkcs12 .ovpn .tfvars .mobileprovision
		.keychain .keychain-db .agekey`)
	secretPrefixes = []string{"id_rsa.", "id_ed25519.", "id_ecdsa.", "id_dsa.", "service-account", "service_account", "gcp-key", "firebase-adminsdk"}
	secretStems    = set(`credential credentials secret secrets client_secret client-secret application_default_credentials token tokens
		apikey api_key api-key password passwords private_key private-key`)
	dataExts   = set(`.json .yml .yaml .toml .ini .cfg .conf .txt .properties .xml .csv .env`)
	secretDirs = set(`.ssh .gnupg .aws .azure .password-store .secrets .vault`)
)
