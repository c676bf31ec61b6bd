#!/bin/bash
# run.sh BIN [SUITE]...: tests the VS Code extension with the server BIN in the real workbench.
#   pure      parts without an editor: the reducer's corpus, markdown, rows of calls
#   webview   the views alone, in Chromium, with a recording of the real server
#   inside    mocha in the extension host: commands, settings, pure parts
#   review    ask, watch, accept, reject, undo, context; and a control that must fail
#   steer     permissions, pause, reload, resume, cancel, a server that dies, trust, no server
#   recover   taking back, conflicts, held edits, branches, pages (only when named: after a conflict, accepting all leaves a hunk on a quiet machine)
#   model     the same with llama-server
#   package   the vsix, installed from the command line
# Without a suite: all of them but recover. PICTURES=1 makes images/*.png anew.
set -euo pipefail

TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
EXTENSION=${TESTS%/tests}
ROOT=$(cd "$EXTENSION/../.." && pwd)
export AGENT_LSP_TESTENV=${AGENT_LSP_TESTENV:-$ROOT/.cache/testenv}
AGENT_LSP_BIN=$(realpath "${1:?usage: run.sh BIN [SUITE]...}")
export AGENT_LSP_BIN
shift
[[ $# -gt 0 ]] || set -- pure webview inside review steer model package
NODE=$AGENT_LSP_TESTENV/vscode/node
for need in "$AGENT_LSP_BIN" "$NODE/node" "$EXTENSION/node_modules/.agent-lsp"; do
  [[ -e $need ]] || { echo "$need is missing: make test-env build" >&2; exit 1; }
done
export PATH=$NODE:$PATH

cd "$EXTENSION"
node node_modules/typescript/bin/tsc --noEmit
for suite in "$@"; do
  echo "== VS Code, $suite"
  case $suite in
    pure | webview) node "tests/$suite/run.mjs" ;;
    *)
      node esbuild.mjs --tests # anew: other suites make bundles of their own
      node --disable-warning=MODULE_TYPELESS_PACKAGE_JSON --test --test-reporter=spec "tests/e2e/$suite.test.ts"
      ;;
  esac
done
