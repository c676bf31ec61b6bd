package text

import (
	"path"
	"strings"
)

// SecretPath says whether a path looks like it holds credentials: environment
// files, private keys, key stores, the credential files of well-known tools. It
// goes by the name alone, ignores case and what makes a name look like another,
// and would rather say yes. Such files are never indexed, summarised or sent,
// and need permission to be read. There is no other list.
func SecretPath(p string) bool {
	p = strings.ToLower(strings.ReplaceAll(p, "\\", "/"))
	for !isPlain(p) {
		q := plain(p)
		if q == p {
			break
		}
		p = q
	}
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
	for rest := dir; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		if secretDirs[part] {
			return true
		}
	}
	return secretDirs[base] || strings.HasSuffix(dir, ".docker/") && base == "config.json" ||
		strings.Contains(dir, ".config/gcloud/") ||
		strings.HasSuffix(dir, ".config/gh/") && base == "hosts.yml" ||
		strings.Contains("/"+dir, "/proc/") && (base == "environ" || base == "mem")
}

// isPlain says that nothing in a path needs plain: the usual case, for a scan
// asks of every file.
func isPlain(p string) bool {
	for i := 0; i < len(p); i++ {
		c := p[i]
		if c >= 0x80 || c == ':' || (c == ' ' || c == '.') && (i+1 == len(p) || p[i+1] == '/') && !(c == '.' && (i == 0 || p[i-1] == '/' || p[i-1] == '.')) {
			return false
		}
	}
	return true
}

// plain is a path as file systems and eyes may read it: without invisible
// characters, with full-width forms as ASCII, each name without trailing dots
// and blanks and without an NTFS stream.
func plain(p string) string {
	p = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff, r == 0xad:
			return -1
		case r >= 0xff01 && r <= 0xff5e: // full-width ASCII
			return r - 0xff01 + '!'
		case r == 0x2024 || r == 0xfe52: // one dot leader, small full stop
			return '.'
		case r == 0x2215 || r == 0x2044: // division and fraction slash
			return '/'
		}
		return r
	}, p)
	parts := strings.Split(p, "/")
	for i, s := range parts {
		if at := strings.IndexByte(s, ':'); at > 0 {
			s = s[:at]
		}
		if cut := strings.TrimRight(s, ". "); cut != "" {
			s = cut
		}
		parts[i] = s
	}
	return strings.ToLower(strings.Join(parts, "/"))
}

// secretSample lets the templates through that projects keep for newcomers.
func secretSample(base string) bool {
	for _, s := range []string{".example", ".sample", ".template", ".dist", ".defaults", ".pub"} {
		if strings.HasSuffix(base, s) {
			return true
		}
	}
	return strings.HasPrefix(base, "example.env") || strings.HasPrefix(base, "sample.env")
}

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

var (
	secretNames = words(`.netrc _netrc .pgpass .npmrc .yarnrc.yml .pypirc .htpasswd .git-credentials .dockercfg .s3cfg .boto .my.cnf
		.vault-token .terraformrc terraform.rc id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk known_hosts authorized_keys
		credentials shadow gshadow master.key secrets.yml secrets.yaml secrets.json secrets.toml .secrets .secret auth.json .authinfo
		.authinfo.gpg .mailrc wp-config.php.bak terraform.tfstate terraform.tfstate.backup logins.json key4.db kubeconfig .token`)
	secretExts = words(`.pem .key .p12 .pfx .jks .keystore .kdbx .ppk .asc .gpg .p8 .pkcs12 .ovpn .tfvars .mobileprovision
		.keychain .keychain-db .agekey .age .secret`)
	secretPrefixes = []string{"id_rsa.", "id_ed25519.", "id_ecdsa.", "id_dsa.", "service-account", "service_account", "gcp-key", "firebase-adminsdk"}
	secretStems    = words(`credential credentials secret secrets client_secret client-secret application_default_credentials token tokens
		apikey api_key api-key password passwords private_key private-key`)
	dataExts   = words(`.json .yml .yaml .toml .ini .cfg .conf .txt .properties .xml .csv .env`)
	secretDirs = words(`.ssh .gnupg .aws .azure .kube .password-store .secrets .vault`)
)
