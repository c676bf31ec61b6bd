#!/bin/bash
# run.sh BIN [pure|real|pictures]...: tests the Neovim plugin with the server BIN.
#   pure      the parts without an editor's state: reducer corpus, tree and hunk goldens
#   real      real Neovim, real server, built-in model
#   pictures  the same on a real screen, which makes docs/images/neovim-*.png
# Without a suite: pure and real. NVIM names another Neovim than the test environment's;
# UPDATE=1 writes the goldens anew; FILTER chooses cases by a Lua pattern.
set -euo pipefail

TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PLUGIN=${TESTS%/tests}
ROOT=$(cd "$PLUGIN/../.." && pwd)
TESTENV=${AGENT_LSP_TESTENV:-$ROOT/.cache/testenv}
BIN=$(realpath "${1:?usage: run.sh BIN [pure|real|pictures]...}")
export BIN NVIM=${NVIM:-$TESTENV/neovim/bin/nvim} MINI_TEST=$TESTENV/neovim/usr/share/neovim-mini.test
shift
[[ $# -gt 0 ]] || set -- pure real
for need in "$BIN" "$NVIM" "$MINI_TEST/lua/mini/test.lua"; do
  [[ -e $need ]] || { echo "$need is missing: make test-env" >&2; exit 1; }
done

# the Go commands that cases run find what is built already; the server lets them read it only
GOCACHE=${GOCACHE:-$(go env GOCACHE)}
export GOCACHE
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
export XDG_CONFIG_HOME=$WORK/config XDG_STATE_HOME=$WORK/state XDG_CACHE_HOME=$WORK/cache XDG_DATA_HOME=$WORK/data
mkdir -p "$XDG_CONFIG_HOME" "$XDG_STATE_HOME" "$XDG_CACHE_HOME" "$XDG_DATA_HOME"
# the built-in model only: no keys, no servers of this machine
unset ANTHROPIC_API_KEY OPENAI_API_KEY GROQ_API_KEY

suite() { "$NVIM" --headless --clean -u NONE -l "$TESTS/run.lua" "$TESTS/$1"/test_*.lua; }

for name in "$@"; do
  echo "== neovim, $name: $("$NVIM" --version | head -n1)"
  case $name in
    pure | real) suite "$name" ;;
    pictures) bash "$TESTS/pictures/run.sh" ;;
    *) echo "unknown suite $name" >&2; exit 1 ;;
  esac
done
