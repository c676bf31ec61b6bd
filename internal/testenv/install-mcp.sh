#!/bin/bash
# install-mcp.sh: two reference servers of the Model Context Protocol in $TESTENV/mcp, by name and version.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

PACKAGES=(@modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31)
P=$TESTENV/mcp
KEY="1 ${PACKAGES[*]} $P" # count up when what this script makes changes

locked mcp
ready "$P" "$KEY" && exit 0

need_npm
rm -rf "$P"
mkdir -p "$P"
# Without scripts: nothing of what is downloaded runs while it is installed.
install() { npm install --prefix "$P" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error "${PACKAGES[@]}" >/dev/null; }
retry install || die "npm cannot install ${PACKAGES[*]}"
for s in everything filesystem; do
  [[ -f $P/node_modules/@modelcontextprotocol/server-$s/dist/index.js ]] || die "server-$s holds no dist/index.js"
done
finish "$P" "$KEY" "MCP servers: ${PACKAGES[*]##*/}"
