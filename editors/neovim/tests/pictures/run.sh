#!/bin/bash
# Makes the pictures of the README on a real screen, and is a test by that:
# each is taken when the screen shows what it must. Called by ../run.sh.
set -euo pipefail

: "${NVIM:?}" "${PLUGIN:?}" "${BIN:?}"
CHROMIUM=${CHROMIUM:-chromium}
ROOT=$(cd "$PLUGIN/../.." && pwd)
IMAGES=${IMAGES:-$ROOT/docs/images}
WORK=$(mktemp -d)
# shellcheck source=screen.sh
. "$PLUGIN/tests/pictures/screen.sh"
trap 'stop; rm -rf "$WORK"' EXIT

# a small real project: the source of a library that agent-lsp is built with
cp -r "$(cd "$ROOT" && go list -m -f '{{.Dir}}' github.com/sourcegraph/conc)" "$WORK/project"
chmod -R u+w "$WORK/project"
mkdir -p "$WORK/project/.git"
echo 'ref: refs/heads/main' >"$WORK/project/.git/HEAD"
SIZE=1290,748

start 150x39 panics/panics.go
expect 'package panics'
keys ':AgentToggle' Enter
expect 'Ready, offline too'
keys Escape
quiet
picture neovim-welcome $SIZE

keys i
type_text 'where is a panic caught and propagated to the caller?'
keys Enter
expect 'waitgroup.go:[0-9]+'
expect 'agent ○'
keys Escape
quiet
picture neovim-answer $SIZE

keys C-w h
keys ':Agent rename NewRecovered to Capture everywhere' Enter
expect 'agent ⧗ 3 hunks'
quiet
keys ':AgentNext' Enter
expect 'hunk 1 of 3 · ␣ay accept'
keys ']x'
expect 'hunk 2 of 3 · ␣ay accept'
quiet
picture neovim-hunks $SIZE

keys ' ' a y
expect 'agent ⧗ 2 hunks'
keys ']x'
quiet
keys ':AgentReject NewRecovered is part of the API' Enter
gone 'agent ⧗ 2 hunks'
keys ':AgentReview' Enter
expect 'panics.go\|'
quiet
keys ':cclose' Enter
keys ':AgentReject!' Enter
expect 'agent ○'
gone 'NewRecovered\(1, val\).*hunk'

keys ':AgentContext' Enter
expect '^ *Plan [0-9a-f]+ · turn [0-9]+, call .* · identical on replay ✓'
quiet
picture neovim-context $SIZE
keys q

keys ':Agent run the tests' Enter
expect 'wants to run'
quiet
picture neovim-permission $SIZE
keys ':AgentPause' Enter
expect 'agent ⏸ paused'
expect 'paused before'
quiet
picture neovim-paused $SIZE
keys ':AgentCancel' Enter
expect 'interrupted'
gone 'wants to run'

# the server is killed while a run waits and a steer is unread
keys ':Agent run the tests' Enter
expect 'wants to run'
quiet
keys ':Agent only those of panics, please' Enter
expect 'steer · unread'
keys ':lua vim.uv.kill(vim.api.nvim_get_proc_children(vim.fn.getpid())[1], "sigkill")' Enter
expect 'interrupted at step 2 of 40 +\[r\] resume'
expect 'takes it up again'
gone 'wants to run'
quiet
picture neovim-interrupted $SIZE
keys ':AgentResume' Enter
expect '– interrupted: the agent'
gone '\[r\] resume'
echo 'neovim pictures: all seen'
