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
	if !isPlain(p) {
		p = PlainPath(p)
	}
	dir, base := path.Split(p)
	if secretSample(base) {
		return false
	}
	if secretNames[base] || secretExts[path.Ext(base)] {
		return true
	}
	if environmentFile(base) {
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

// EnvironmentPath says whether a secret-looking path is an environment file,
// where people keep real keys even if git has it.
func EnvironmentPath(p string) bool {
	return SecretPath(p) && environmentFile(path.Base(PlainPath(p)))
}

func environmentFile(base string) bool {
	return base == ".env" || base == ".envrc" || strings.HasPrefix(base, ".env.") || strings.HasSuffix(base, ".env")
}

// isPlain says that nothing in a path needs PlainPath: the usual case, for a scan
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

// PlainPath is a path as file systems and eyes may read it: in lower case,
// without invisible characters, with full-width forms as ASCII, each name
// without trailing dots and blanks and without an NTFS stream.
func PlainPath(p string) string {
	for {
		parts := strings.Split(strings.Map(plainRune, p), "/")
		for i, s := range parts {
			if at := strings.IndexByte(s, ':'); at > 0 {
				s = s[:at]
			}
			if cut := strings.TrimRight(s, ". "); cut != "" {
				s = cut
			}
			parts[i] = s
		}
		q := strings.ToLower(strings.Join(parts, "/"))
		if q == p {
			return q
		}
		p = q
	}
}

func plainRune(r rune) rune {
	switch {
	case invisible(r):
		return -1
	case r >= 0xff01 && r <= 0xff5e: // full-width ASCII
		return r - 0xff01 + '!'
	case r == 0x2024 || r == 0xfe52: // one dot leader, small full stop
		return '.'
	case r == 0x2215 || r == 0x2044 || r == 0x29f8: // division, fraction and big slash
		return '/'
	}
	return r
}

// invisible characters can't be seen, or turn what is seen around.
func invisible(r rune) bool {
	return r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff || r == 0xad
}

// Deceptive says whether a path shows a person something else than it is: it
// holds characters that can't be seen or control the screen, look-alikes of dots
// and slashes, or a name that ends with a blank or dot, which some systems drop.
func Deceptive(p string) bool {
	for _, r := range p {
		if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || invisible(r) || r > 0x7f && (plainRune(r) == '.' || plainRune(r) == '/' || plainRune(r) == '\\') {
			return true
		}
	}
	for part := range strings.SplitSeq(p, "/") {
		if part != "." && part != ".." && part != strings.TrimRight(part, ". ") {
			return true
		}
	}
	return false
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
