#!/bin/bash
# install-llama-server.sh: llama.cpp's server, which runs the tests' scripted model, in
# $TESTENV/llama-server. LLAMA_SUITE chooses the Debian suite.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

SUITE=${LLAMA_SUITE:-forky}
P=$TESTENV/llama-server
KEY="2 $SUITE $P" # count up when what this script makes changes

locked llama-server
ready "$P" "$KEY" && exit 0

rm -rf "$P"
mkdir -p "$P"
unpack_suite "$P" "$SUITE" llama.cpp-tools
LIB=$P/usr/lib/$MULTIARCH
LD=$(loader "$LIB")
# The folder of CPU backends is compiled in as /usr/lib/…, so one is named outright: AVX2 where the
# machine has it, else the plainest. (The newest ones do not start in every virtual machine.)
BACKENDS=$LIB/ggml/backends0
case $(uname -m) in x86_64) PLAIN=x64 FAST=haswell ;; *) PLAIN=armv8.0_1 FAST=armv8.0_1 ;; esac
[[ -f $BACKENDS/libggml-cpu-$PLAIN.so ]] || die "llama.cpp-tools of $SUITE brought no $BACKENDS/libggml-cpu-$PLAIN.so"
cat >"$P/llama-server.new" <<W
#!/bin/sh
cpu=$PLAIN
if grep -q '^flags.* avx2 ' /proc/cpuinfo && grep -q '^flags.* fma ' /proc/cpuinfo; then cpu=$FAST; fi
export GGML_BACKEND_PATH="\${GGML_BACKEND_PATH:-$BACKENDS/libggml-cpu-\$cpu.so}"
exec "$LD" --argv0 llama-server --library-path "$LIB:$LIB/llama" "$P/usr/bin/llama-server" "\$@"
W
chmod +x "$P/llama-server.new"
mv "$P/llama-server.new" "$P/llama-server"
"$P/llama-server" --version >/dev/null 2>&1 || die "the unpacked llama-server does not run: $("$P/llama-server" --version 2>&1 | tail -n3)"
finish "$P" "$KEY" "llama-server $(sed -n 's/^llama.cpp-tools //p' "$P/versions") ($SUITE)"
