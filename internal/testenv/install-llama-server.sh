#!/bin/bash
# install-llama-server.sh: llama.cpp's server, which runs the tests' scripted model, in
# $TESTENV/llama-server. LLAMA_SUITE chooses the Debian suite.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

SUITE=${LLAMA_SUITE:-forky}
P=$TESTENV/llama-server
KEY="1 $SUITE $P" # count up when what this script makes changes

locked llama-server
ready "$P" "$KEY" && exit 0

rm -rf "$P"
mkdir -p "$P"
unpack_suite "$P" "$SUITE" llama.cpp-tools
LIB=$P/usr/lib/$MULTIARCH
LD=$(loader "$LIB")
# The folder of CPU backends is compiled in as /usr/lib/…, so the plainest one is named outright.
BACKEND=
for f in "$LIB"/ggml/backends0/libggml-cpu-{x64,armv8.0_1}.so; do [[ ! -f $f ]] || BACKEND=$f; done
[[ -n $BACKEND ]] || die "llama.cpp-tools of $SUITE brought no CPU backend in $LIB/ggml/backends0"
cat >"$P/llama-server.new" <<W
#!/bin/sh
export GGML_BACKEND_PATH="\${GGML_BACKEND_PATH:-$BACKEND}"
exec "$LD" --argv0 llama-server --library-path "$LIB:$LIB/llama" "$P/usr/bin/llama-server" "\$@"
W
chmod +x "$P/llama-server.new"
mv "$P/llama-server.new" "$P/llama-server"
"$P/llama-server" --version >/dev/null 2>&1 || die "the unpacked llama-server does not run: $("$P/llama-server" --version 2>&1 | tail -n3)"
finish "$P" "$KEY" "llama-server $(sed -n 's/^llama.cpp-tools //p' "$P/versions") ($SUITE)"
