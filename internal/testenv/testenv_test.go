package testenv

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMissingNamesTheCommand(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("AGENT_LSP_TESTENV", empty)
	t.Setenv("PATH", empty)
	for _, p := range []program{llamaServer, neovim, neovimOld, miniTest, chromium, tmux} {
		_, err := p.find()
		if err == nil {
			t.Errorf("%s was found in an empty folder", p.name)
			continue
		}
		want := p.name + ": not installed; run `make test-env` (or internal/testenv/" + p.script + ")"
		if err.Error() != want {
			t.Errorf("%s: the error says\n%v\nwant\n%s", p.name, err, want)
		}
	}
}

func TestInstalledRun(t *testing.T) {
	for _, c := range []struct {
		find func(testing.TB) string
		arg  string
		says string
	}{
		{LlamaServer, "--version", "version"},
		{Neovim, "--version", "NVIM v0.12"},
		{Chromium, "--version", "Chromium"},
		{Tmux, "-V", "tmux"},
	} {
		out, err := exec.Command(c.find(t), c.arg).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.says) {
			t.Errorf("%s %s: %v\n%s", c.find(t), c.arg, err, out)
		}
	}
}

// Neovim finds its own runtime and mini.test from the private prefix.
func TestNeovimLoadsMiniTest(t *testing.T) {
	cmd := exec.Command(Neovim(t), "--headless", "--clean", "-u", "NONE",
		"--cmd", "set rtp^="+MiniTest(t),
		"+lua io.stdout:write(type(require('mini.test').setup), ' ', vim.fn.filereadable(vim.env.VIMRUNTIME .. '/lua/vim/lsp.lua'))", "+qa!")
	for _, v := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
		cmd.Env = append(cmd.Env, v+"="+filepath.Join(t.TempDir(), v))
	}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "function 1" {
		t.Errorf("nvim says %q, %v; want %q", out, err, "function 1")
	}
}
