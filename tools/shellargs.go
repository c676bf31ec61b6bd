package tools

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// What is known of programs. The tables err towards asking: a program that is
// in none of them needs a rule of its own.

// harmlessVariables may be set in front of a command without a rule that says
// so. PATH, LD_PRELOAD, GIT_SSH_COMMAND, NODE_OPTIONS and their kind run code.
var harmlessVariables = []string{
	"CI", "CGO_ENABLED", "CLICOLOR", "COLUMNS", "DEBIAN_FRONTEND", "FORCE_COLOR", "GOARCH", "GOMAXPROCS", "GOOS", "GOWORK",
	"LANG", "LANGUAGE", "LINES", "NODE_ENV", "NO_COLOR", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUNBUFFERED",
	"RAILS_ENV", "RUST_BACKTRACE", "RUST_LOG", "TERM", "TZ",
}

func harmlessVariable(name string) bool {
	return slices.Contains(harmlessVariables, name) || strings.HasPrefix(name, "LC_")
}

// inertPrograms print or compute from their arguments and do nothing else, so
// that arguments which aren't known do no harm.
var inertPrograms = []string{"echo", "true", "false", ":", "sleep", "seq", "basename", "dirname"}

// riskyArgs are options by which a program runs another, or writes where it
// otherwise would not. A wildcard in a rule never covers them: the rule must
// spell them out. An entry that ends in * is a beginning.
var riskyArgs = map[string][]string{
	"find":   {"-delete", "-fprint*", "-fls"},
	"git":    {"--config-env*", "--exec-path*", "--upload-pack*", "--receive-pack*", "--exec*", "--ext-diff", "--extcmd*", "--open-files-in-pager*", "--output*", "--git-dir*", "--work-tree*", "--template*"},
	"go":     {"-exec*", "--exec*", "-toolexec*", "--toolexec*", "-vettool*", "--vettool*", "-overlay*", "--overlay*", "-modfile*", "--modfile*", "-C*", "-w"},
	"grep":   {"-r*", "-R*", "--recursive", "--dereference-recursive", "-d*", "--directories*"}, // secret files are below, unnamed
	"rg":     {"--hidden", "-.", "-u*", "--unrestricted", "--no-ignore*", "--pre", "--pre=*", "--hostname-bin*"},
	"sed":    {"-i*", "--in-place*", "-f*", "--file*"},
	"awk":    {"-f*", "--file*", "-i*", "-l*", "-E*", "--load*", "--include*"},
	"sort":   {"-o*", "--output*", "--compress-program*"},
	"tar":    {"-I*", "--use-compress-program*", "--to-command*", "--checkpoint-action*", "-F*", "--info-script*", "--new-volume-script*", "--rsh-command*"},
	"make":   {"SHELL=*", "--eval*", "-E*", "MAKEFLAGS=*", "CC=*"},
	"npm":    {"--script-shell*", "--node-options*", "--prefix*"},
	"cargo":  {"--config*"},
	"rsync":  {"-e*", "--rsh*", "--rsync-path*"},
	"ssh":    {"-o*", "-F*"},
	"scp":    {"-o*", "-F*", "-S*"},
	"gcc":    {"-wrapper*", "-fplugin*", "-B*", "-specs*"},
	"clang":  {"-fplugin*", "-B*", "-Xclang"},
	"curl":   {"-K*", "--config*"},
	"wget":   {"--use-askpass*", "--config*", "-e*", "--execute*"},
	"jq":     {"-L*"},
	"tree":   {"-o*"},
	"date":   {"-s*", "--set*"},
	"printf": {"-v*"}, // evaluates its name
	"test":   {"-v"}, "[": {"-v"},
}

// sameArgs are other names of programs in riskyArgs.
var sameArgs = map[string]string{"gawk": "awk", "mawk": "awk", "nawk": "awk", "g++": "gcc", "cc": "gcc", "clang++": "clang", "gmake": "make", "pnpm": "npm", "yarn": "npm", "egrep": "grep", "fgrep": "grep"}

var (
	simpleSed = regexp.MustCompile(`^(?:(?:\d+|\$|/[^/\n]*/)(?:,(?:\d+|\$|/[^/\n]*/))?!?)?(?:[pdq=]|s([/|#,])[^\n]*?([/|#,])[^\n]*?([/|#,])[gpI0-9]*)$`)
	unsafeAwk = regexp.MustCompile(`system|getline|[|>@]|close|include|load`)
)

// risky says, word by word, which ones a wildcard may not cover.
func risky(words []ShellWord, outside func(string) bool) []bool {
	out := make([]bool, len(words))
	at := commandAt(words)
	for i := range at {
		out[i] = true // PATH=. make
	}
	if at == len(words) {
		return out
	}
	name := program(words[at].Text)
	scripts := []string{"sed", "awk", "grep", "rg", "jq", "perl"}
	script := slices.Contains(scripts, name)
	options := true
	for i := at + 1; i < len(words); i++ {
		w := words[i].Text
		flag := strings.HasPrefix(w, "-") && options
		if w == "--" {
			options = false
		}
		for _, r := range riskyArgs[name] {
			if begin, ok := strings.CutSuffix(r, "*"); ok && strings.HasPrefix(w, begin) || w == r {
				out[i] = true
			}
		}
		if name == "git" && gitGlobal(words, at, i) || name == "git" && gitPager(words, at, i) {
			out[i] = true
		}
		if clustered(name, w) {
			out[i] = true
		}
		switch {
		case script && !flag:
			script = false // its first operand is a program, not a path
			out[i] = out[i] || name == "sed" && !simpleSed.MatchString(w) || name == "awk" && unsafeAwk.MatchString(w) || name == "perl"
		case words[i].Kind == WordDynamic || words[i].Kind == WordTail:
		case pathsOutside(w, flag, outside):
			out[i] = true
		}
	}
	return out
}

// program gives the name under which a program is in the tables.
func program(text string) string {
	name := path.Base(text)
	if same, ok := sameArgs[name]; ok {
		return same
	}
	return name
}

// clustered finds -i in sed -ni and -I in tar -xIf.
func clustered(name, w string) bool {
	if len(w) < 3 || w[0] != '-' || w[1] == '-' {
		return false
	}
	switch name {
	case "sed":
		return strings.ContainsAny(w[1:], "if")
	case "tar":
		return strings.ContainsAny(w[1:], "IF")
	case "sort":
		return strings.Contains(w[1:], "o")
	case "grep": // -nr; a pattern behind -e is none of it
		flags, _, _ := strings.Cut(w[1:], "e")
		return strings.ContainsAny(flags, "rR")
	case "rg":
		return strings.ContainsAny(w[1:], "u.")
	}
	return false
}

// gitGlobal finds git -c key=value and git -C dir, which stand before the
// subcommand; the word after them counts too.
func gitGlobal(words []ShellWord, at, i int) bool {
	for k := at + 1; k <= i; k++ {
		w := words[k].Text
		if !strings.HasPrefix(w, "-") {
			return false
		}
		if w == "-c" || w == "-C" {
			if k == i || k+1 == i {
				return true
			}
			k++
		}
	}
	return false
}

// gitPager finds git grep -Oprogram and git rebase -x command.
func gitPager(words []ShellWord, at, i int) bool {
	for k := at + 1; k < i; k++ {
		switch words[k].Text {
		case "grep":
			return strings.HasPrefix(words[i].Text, "-O")
		case "rebase":
			return strings.HasPrefix(words[i].Text, "-x")
		}
	}
	return false
}

// pathsOutside says whether a word names a path outside the workspace, or one
// that looks secret; by itself, or after the = of an option.
func pathsOutside(w string, flag bool, outside func(string) bool) bool {
	if _, value, ok := strings.Cut(w, "="); ok && outside(value) {
		return true
	}
	if flag && len(w) > 2 && w[1] != '-' && outside(w[2:]) && strings.ContainsAny(w[2:3], "/~.") {
		return true // -o/etc/x
	}
	return !flag && outside(w)
}

// networkWords: a program that needs the network, alone or with one of these
// as its first or second argument.
var networkWords = map[string][]string{
	"curl": nil, "wget": nil, "ssh": nil, "scp": nil, "sftp": nil, "rsync": nil, "ftp": nil, "nc": nil, "ncat": nil, "telnet": nil,
	"ping": nil, "dig": nil, "nslookup": nil, "host": nil, "whois": nil, "npx": nil, "bunx": nil, "gh": nil, "glab": nil, "aws": nil,
	"gcloud": nil, "az": nil, "kubectl": nil, "helm": nil, "terraform": nil, "apt": nil, "apt-get": nil, "brew": nil, "dnf": nil, "yum": nil,
	"apk": nil, "rustup": nil, "http": nil, "aria2c": nil, "svn": nil,
	"git":    {"push", "fetch", "pull", "clone", "ls-remote", "submodule"},
	"npm":    {"install", "i", "ci", "add", "update", "publish", "audit", "view", "outdated", "exec", "create", "login"},
	"yarn":   {"install", "add", "upgrade", "dlx", "publish"},
	"bun":    {"install", "add", "update", "x"},
	"pip":    {"install", "download", "index"},
	"pip3":   {"install", "download", "index"},
	"uv":     {"sync", "add", "lock", "pip", "tool"},
	"poetry": {"install", "add", "update", "lock", "publish"},
	"go":     {"get", "install", "download", "tidy"},
	"cargo":  {"fetch", "install", "update", "add", "publish", "search"},
	"gem":    {"install", "update", "push"},
	"bundle": {"install", "update"},
	"docker": {"pull", "push", "build", "login", "run"},
	"mvn":    nil, "composer": {"install", "update", "require"},
}

// networkDepth is how many words after the program are looked at for a
// subcommand: "go mod tidy".
const networkDepth = 3

func needsNetwork(c ShellCommand) bool {
	at := commandAt(c.Words)
	if at == len(c.Words) {
		return false
	}
	name := path.Base(c.Words[at].Text)
	args := c.Words[at+1:]
	if strings.HasPrefix(name, "python") && len(args) > 2 && args[0].Text == "-m" && args[1].Text == "pip" {
		name, args = "pip", args[2:]
	}
	if name == "pnpm" {
		name = "npm"
	}
	subs, ok := networkWords[name]
	if !ok || subs == nil {
		return ok
	}
	for _, a := range args[:min(len(args), networkDepth)] {
		if slices.Contains(subs, a.Text) {
			return true
		}
	}
	return false
}

// dangerous programs are never offered as "always".
var dangerous = []string{
	"rm", "rmdir", "shred", "dd", "truncate", "chmod", "chown", "chgrp", "kill", "pkill", "killall", "sudo", "doas", "su", "runuser",
	"ssh", "scp", "sftp", "rsync", "curl", "wget", "nc", "ncat", "telnet", "eval", "exec", "source", ".", "trap", "alias", "shopt",
	"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish", "python", "python2", "python3", "node", "deno", "bun", "ruby", "perl", "php",
	"lua", "osascript", "xargs", "env", "parallel", "watch", "flock", "script", "strace", "ltrace", "gdb", "busybox", "toybox", "docker", "podman",
	"kubectl", "helm", "terraform", "aws", "gcloud", "az", "systemctl", "service", "launchctl", "crontab", "at", "mount", "umount",
	"shutdown", "reboot", "halt", "poweroff", "npx", "bunx", "gh", "glab", "apt", "apt-get", "brew", "dnf", "yum", "apk", "chroot", "nsenter",
	"unshare", "iptables", "passwd", "useradd", "usermod", "visudo", "tee", "mv", "ln", "install", "cp",
}

// dangerousArgs make an otherwise ordinary program one of them.
var dangerousArgs = map[string][]string{
	"git":   {"push", "reset", "clean", "checkout", "restore", "rebase", "filter-branch", "filter-repo", "update-ref", "gc", "prune", "reflog", "config", "stash", "remote", "clone", "submodule", "worktree", "am", "apply", "-D", "--force", "-f", "--hard", "difftool", "mergetool", "bisect"},
	"npm":   {"publish", "exec", "config", "login", "install", "i", "ci", "add", "create", "update", "link"},
	"yarn":  {"publish", "dlx", "add", "config", "install"},
	"go":    {"run", "get", "install", "generate", "env", "clean", "tool"},
	"cargo": {"publish", "install", "run", "login", "yank", "clean"},
	"find":  {"-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-fls"},
	"pip":   {"install", "uninstall"}, "pip3": {"install", "uninstall"},
	"make": {"install", "clean", "distclean", "uninstall", "deploy", "publish", "release"},
}

// isDangerous says that no lasting permission should be offered.
func isDangerous(c ShellCommand) bool {
	at := commandAt(c.Words)
	if at > 0 || at == len(c.Words) {
		return true
	}
	name := path.Base(c.Words[0].Text)
	if slices.Contains(dangerous, name) || strings.HasPrefix(name, "mkfs") {
		return true
	}
	for _, w := range c.Words[1:] {
		if slices.Contains(dangerousArgs[program(name)], w.Text) || slices.Contains(dangerousArgs[name], w.Text) {
			return true
		}
	}
	return false
}

// destroyers take away what can't be had back.
var destroyers = []string{"rm", "rmdir", "shred", "dd", "truncate", "kill", "pkill", "killall", "shutdown", "reboot", "halt", "poweroff", "sudo", "doas", "su"}

var destroyerArgs = map[string][]string{
	"git":       {"reset", "clean", "checkout", "restore", "rebase", "filter-branch", "filter-repo", "gc", "prune", "--force", "-f", "-D", "--hard", "drop", "clear"},
	"find":      {"-delete"},
	"docker":    {"rm", "rmi", "prune", "kill"},
	"kubectl":   {"delete", "drain", "apply"},
	"terraform": {"apply", "destroy"},
	"npm":       {"publish", "unpublish"},
	"cargo":     {"publish", "yank"},
	"chmod":     {"-R"}, "chown": {"-R"},
}

func destroys(c ShellCommand) bool {
	at := commandAt(c.Words)
	if at == len(c.Words) {
		return false
	}
	name := path.Base(c.Words[at].Text)
	if slices.Contains(destroyers, name) || strings.HasPrefix(name, "mkfs") {
		return true
	}
	for _, w := range c.Words[at+1:] {
		if slices.Contains(destroyerArgs[name], w.Text) {
			return true
		}
	}
	return false
}

// readers only look; any arguments inside the workspace are alike to them.
var readers = []string{
	"ls", "cat", "head", "tail", "wc", "grep", "egrep", "fgrep", "rg", "cut", "tr", "uniq", "diff", "cmp", "stat", "file", "du", "df", "tree",
	"which", "echo", "printf", "date", "basename", "dirname", "realpath", "readlink", "nl", "column", "comm", "jq", "sha256sum", "md5sum", "hexdump", "xxd", "od", "strings", "find", "fd", "sort", "ps", "uname", "gofmt",
}

// subcommands of tools, each of which is a thing of its own.
var subcommandTools = []string{"go", "git", "npm", "pnpm", "yarn", "cargo", "make", "gradle", "mvn", "dotnet", "rake", "bundle", "poetry", "uv", "tox", "just", "task", "bazel", "mix", "swift", "composer", "pytest", "jest", "vitest", "eslint", "tsc", "ruff", "mypy", "black", "prettier", "golangci-lint", "staticcheck"}

// withoutSubcommand are the ones among them whose first argument is no
// subcommand but an argument like others.
var withoutSubcommand = []string{"make", "rake", "just", "task", "pytest", "jest", "vitest", "eslint", "tsc", "ruff", "mypy", "black", "prettier", "golangci-lint", "staticcheck", "tox"}

// Suggest gives the pattern that "always" would save for a command: as narrow
// as is still useful, "" where none should be offered.
func (c ShellCommand) Suggest() string {
	if len(c.Words) == 0 || isDangerous(c) || c.Neutral {
		return ""
	}
	known := true
	for _, w := range c.Words {
		known = known && w.Kind != WordDynamic
	}
	name := c.Words[0].Text
	switch {
	case slices.Contains(readers, name):
		return name + " *"
	case slices.Contains(withoutSubcommand, name):
	case slices.Contains(subcommandTools, name) && len(c.Words) > 1 && c.Words[1].Kind == WordLiteral && !strings.HasPrefix(c.Words[1].Text, "-"):
		second := c.Words[1].quoted()
		if (name == "npm" || name == "pnpm" || name == "yarn") && c.Words[1].Text == "run" || name == "go" && c.Words[1].Text == "mod" {
			if len(c.Words) < 3 || c.Words[2].Kind != WordLiteral {
				return ""
			}
			return (name + " " + second + " " + c.Words[2].quoted()) + " *"
		}
		return name + " " + second + " *"
	}
	if !known || passing(c) {
		return ""
	}
	return c.String()
}

// passing finds words that won't come again: temporary paths and numbers of
// processes. A rule with one in it is dead when it is saved.
func passing(c ShellCommand) bool {
	for _, w := range c.Words {
		if w.Kind == WordTail || strings.Contains(w.Text, "/tmp/") || strings.Contains(w.Text, "/var/folders/") || len(w.Text) >= 4 && strings.Trim(w.Text, "0123456789") == "" {
			return true
		}
	}
	return false
}
