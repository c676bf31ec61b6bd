#!/bin/bash
# install-editors.sh: Neovim and its test harness mini.test in $TESTENV/neovim, or, with
# SUITE=trixie, the oldest Neovim that is supported (0.10) in $TESTENV/neovim-trixie.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

SUITE=${SUITE:-forky}
NAME=neovim
PACKAGES=(neovim patchelf)
# mini.test is plain Lua: one copy, from the default suite, serves every Neovim.
if [[ $SUITE == forky ]]; then PACKAGES+=(neovim-mini.test); else NAME=neovim-$SUITE; fi
P=$TESTENV/$NAME
KEY="1 $SUITE $P" # count up when what this script makes changes

locked "$NAME"
ready "$P" "$KEY" && exit 0

rm -rf "$P"
mkdir -p "$P"
unpack_suite "$P" "$SUITE" "${PACKAGES[@]}"
LIB=$P/usr/lib/$MULTIARCH
LD=$(loader "$LIB")
# nvim is tied to the prefix's own libraries: to run it through ld.so would make v:progpath ld.so,
# and LD_LIBRARY_PATH would be inherited by the language server. DT_RPATH serves libraries of
# libraries too. patchelf itself runs through ld.so, so the system needs none.
NVIM=$(readlink -f "$P/usr/bin/nvim")
"$LD" --library-path "$LIB" "$P/usr/bin/patchelf" --set-interpreter "$LD" --force-rpath --set-rpath "$LIB" "$NVIM"
mkdir -p "$P/bin"
ln -sfn "$NVIM" "$P/bin/nvim"
VERSION=$("$P/bin/nvim" --version | head -n1) || die "the unpacked nvim does not run"
MINI=
if [[ $SUITE == forky ]]; then
  [[ -f $P/usr/share/neovim-mini.test/lua/mini/test.lua ]] || die "neovim-mini.test of $SUITE holds no lua/mini/test.lua"
  MINI=", mini.test $(sed -n 's/^neovim-mini.test //p' "$P/versions")"
fi
finish "$P" "$KEY" "$VERSION$MINI ($SUITE)"
