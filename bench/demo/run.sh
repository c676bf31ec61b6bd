#!/bin/bash
# The main job, on a real repository: a copy of Go's net/http. Offline, with the
# embedded model, and without a question to the person. Usage: run.sh BINARY
set -euo pipefail
bin=$1
here=$(cd "$(dirname "$0")/../.." && pwd)
demo=$here/.cache/demo
mkdir -p "$demo"
# A home of its own, so that your settings and sessions stay as they are.
export XDG_STATE_HOME=$demo/state XDG_CACHE_HOME=$demo/cache XDG_CONFIG_HOME=$demo/config
export AGENT_LSP_MODEL=builtin
rm -rf "$demo/http" "$demo/state"
cp -r "$(go env GOROOT)/src/net/http" "$demo/http"
cd "$demo/http"

say() { printf '\n\033[1m$ agent-lsp %s\033[0m\n' "$*"; }
say ask '"where is the idle connection timeout of a Transport applied?"'
"$bin" ask --plan "where is the idle connection timeout of a Transport applied?"
say ask --no-edits '"rename the function readCookies to parseCookies everywhere"'
"$bin" ask --no-edits "rename the function readCookies to parseCookies everywhere"
printf '\nThe files in %s are as they were: the hunks above are only proposed.\n' "$demo/http"
