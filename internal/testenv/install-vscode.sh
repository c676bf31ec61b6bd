#!/bin/bash
# install-vscode.sh: VS Code's workbench and extension host, as code-server builds them, in
# $TESTENV/vscode, with the Node.js that they need in $TESTENV/vscode/node; and the npm packages
# that the extension is built and tested with, in editors/vscode/node_modules.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

CODE_SERVER=4.139.1 # VS Code 1.139.1
NODE=24.21.0
P=$TESTENV/vscode
EXTENSION=$(cd "$HERE/../../editors/vscode" && pwd)
KEY="2 $CODE_SERVER $NODE $P" # count up when what this script makes changes

# packages: the extension's own, exactly as its package-lock.json says.
packages() {
  local key
  key=$(sha256sum <"$EXTENSION/package-lock.json")
  [[ -f $EXTENSION/node_modules/.agent-lsp && $(<"$EXTENSION/node_modules/.agent-lsp") == "$key" ]] && return
  need_npm
  ci() { (cd "$EXTENSION" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null); }
  retry ci || die "npm cannot install what $EXTENSION/package-lock.json lists"
  printf '%s' "$key" >"$EXTENSION/node_modules/.agent-lsp"
}

locked vscode
packages
ready "$P" "$KEY" && exit 0

need_npm
rm -rf "$P"
mkdir -p "$P/node" "$P/unpacked"
# Without scripts: nothing of what is downloaded runs while it is installed. All native parts that the
# tests need come built inside their packages.
flags=(--ignore-scripts --no-audit --no-fund --loglevel=error)
node_itself() { npm install --prefix "$P/unpacked" --no-save "${flags[@]}" "node-linux-$(node_arch)@$NODE" >/dev/null; }
node_arch() { case $(uname -m) in x86_64) echo x64 ;; *) echo arm64 ;; esac; }
retry node_itself || die "npm cannot install Node.js $NODE"
mv "$P/unpacked/node_modules/node-linux-$(node_arch)/bin/node" "$P/node/node"
pack() { (cd "$P/unpacked" && npm pack --silent --ignore-scripts "code-server@$CODE_SERVER" >/dev/null); }
retry pack || die "npm cannot download code-server $CODE_SERVER"
tar xzf "$P/unpacked/code-server-$CODE_SERVER.tgz" -C "$P/unpacked"
mv "$P/unpacked/package/lib/vscode" "$P/server"
rm -rf "$P/unpacked"
modules() { (cd "$P/server" && npm install --omit=dev "${flags[@]}" >/dev/null); }
retry modules || die "npm cannot install the packages of code-server $CODE_SERVER"

# What no test looks at: two thirds of it.
cd "$P/server"
rm -rf node_modules/@github node_modules/@microsoft/mxc-sdk node_modules/@vscode/copilot-api extensions/copilot
for dir in node_modules/@vscode/ripgrep-universal/bin node_modules/node-pty/prebuilds; do
  [[ ! -d $dir ]] || find "$dir" -mindepth 1 -maxdepth 1 ! -name "linux-$(node_arch)" -exec rm -rf {} +
done
find . -name '*.map' -delete
[[ -f out/server-main.js ]] || die "code-server $CODE_SERVER holds no out/server-main.js"
VERSION=$("$P/node/node" -p 'require("./package.json").version' 2>/dev/null) || die "the unpacked Node.js does not run"
finish "$P" "$KEY" "VS Code $VERSION (code-server $CODE_SERVER), Node.js $NODE"
