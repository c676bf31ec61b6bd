package text

import "strings"

// What other programs obey without asking: git's own folder, and the settings of
// editors, of other agents and of this program. Whoever can write there has code
// run later, outside of every permission. There is no other list.
var (
	SettingsFolders = []string{".vscode", ".vscode-server", ".cursor", ".idea", ".fleet", ".zed", ".nvim", ".vim", ".helix", ".claude", ".codex", ".agent-lsp"}
	SettingsFiles   = []string{".agent-lsp.toml", ".nvim.lua", ".nvimrc", ".exrc", ".vimrc", ".gvimrc", ".lvimrc", ".dir-locals.el", ".emacs",
		".neoconf.json", ".lazy.lua", ".mcp.json", ".envrc"}
	// SettingsEnding is the end of the names of workspace files.
	SettingsEnding = ".code-workspace"

	settingsFolders, settingsFiles = words(strings.Join(SettingsFolders, " ")), words(strings.Join(SettingsFiles, " "))
)

// SettingsFolder says whether a folder of this name holds settings.
func SettingsFolder(name string) bool { return settingsFolders[plainName(name)] }

// SettingsFile says whether a file of this name is settings.
func SettingsFile(name string) bool {
	name = plainName(name)
	return settingsFiles[name] || strings.HasSuffix(name, SettingsEnding)
}

// GitFolder says whether file systems that ignore case, trailing dots and
// invisible characters would take a name for .git.
func GitFolder(name string) bool {
	name = plainName(name)
	return name == ".git" || name == "git~1"
}

// plainName is PlainPath for a name, nearly all of which need none.
func plainName(name string) string {
	if isPlain(name) {
		return strings.ToLower(name)
	}
	return PlainPath(name)
}

// Guarded says whether a path with slashes is git's own, or settings.
func Guarded(p string) bool {
	for rest, more := p, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		if GitFolder(name) || SettingsFolder(name) || !more && SettingsFile(name) {
			return true
		}
	}
	return false
}
