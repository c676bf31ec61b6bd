#!/bin/bash
# install-all.sh: everything that the tests need beyond Go and npm, at once. Prints the seconds of
# each part; fails, after all have ended, when one did. Safe to run again and again, and at the
# same time as itself.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

PARTS=(llama-server editors browser mcp vscode)
LOG=$(mktemp -d)
trap 'rm -rf "$LOG"' EXIT
TIMEFORMAT=%1R

part() {
  { time ./install-"$1".sh >"$LOG/$1.out" 2>"$LOG/$1.err"; } 2>"$LOG/$1.seconds"
}

declare -A pid
for p in "${PARTS[@]}"; do
  part "$p" &
  pid[$p]=$!
done
bad=0
for p in "${PARTS[@]}"; do
  verdict=ok
  wait "${pid[$p]}" || { verdict=FAILED bad=1; }
  printf '%-14s %6s s  %-7s %s\n' "$p" "$(cat "$LOG/$p.seconds")" "$verdict" "$(tr '\n' ';' <"$LOG/$p.out" | sed 's/;$//; s/;/; /g')"
  [[ $verdict == ok ]] || sed 's/^/    /' "$LOG/$p.err"
done
exit $bad
