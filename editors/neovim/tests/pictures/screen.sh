# shellcheck shell=bash
# screen.sh: source me. Drives a real Neovim on a real screen (a private tmux
# server) and takes pictures of it.
# Needs: NVIM, PLUGIN, BIN, WORK (a temporary folder), IMAGES (where pictures go).

SCREEN=(tmux -L "agent-lsp-pictures-$$" -f /dev/null)

start() { # start COLSxROWS FILE...: Neovim with the plugin, in $WORK/project
  local size=$1
  shift
  "${SCREEN[@]}" new-session -d -s e -x "${size%x*}" -y "${size#*x}" -c "$WORK/project" \
    env TERM=tmux-256color COLORTERM=truecolor LANG=C.UTF-8 BIN="$BIN" PLUGIN="$PLUGIN" \
    XDG_CONFIG_HOME="$WORK/config" XDG_STATE_HOME="$WORK/state" XDG_CACHE_HOME="$WORK/cache" XDG_DATA_HOME="$WORK/data" \
    "$NVIM" --clean -u "$PLUGIN/tests/pictures/init.lua" "$@" \; \
    set -g status off \; set -g default-terminal tmux-256color \; set -ga terminal-features ',*:RGB' \; set -sg escape-time 0
}

keys() { "${SCREEN[@]}" send-keys -t e "$@"; }

type_text() { "${SCREEN[@]}" send-keys -t e -l -- "$1"; }

screen() { "${SCREEN[@]}" capture-pane -p -t e; }

expect() { # expect REGEX [SECONDS]: waits until the screen shows it
  local until=$((SECONDS + ${2:-20}))
  while ! screen | grep -Eq -- "$1"; do
    if ! "${SCREEN[@]}" has-session -t e 2>/dev/null; then
      echo "the editor is gone; wanted: $1" >&2
      return 1
    elif ((SECONDS >= until)); then
      echo "never seen: $1" >&2
      screen >&2
      return 1
    fi
    sleep 0.05
  done
}

gone() { # gone REGEX [SECONDS]: waits until the screen shows it no more
  local until=$((SECONDS + ${2:-20}))
  while screen | grep -Eq -- "$1"; do
    if ((SECONDS >= until)); then
      echo "still there: $1" >&2
      screen >&2
      return 1
    fi
    sleep 0.05
  done
}

quiet() { # waits until the screen stays as it is for half a second
  local before='' now
  for _ in $(seq 40); do
    now=$(screen)
    [[ $now == "$before" ]] && return 0
    before=$now
    sleep 0.5
  done
}

picture() { # picture NAME [WIDTHxHEIGHT]: $IMAGES/NAME.png
  local size=${2:-1180,640}
  "${SCREEN[@]}" capture-pane -e -N -p -t e | python3 "$PLUGIN/tests/pictures/ansi2html.py" >"$WORK/$1.html"
  "$CHROMIUM" --headless --no-sandbox --disable-gpu --hide-scrollbars --disable-lcd-text --font-render-hinting=none --user-data-dir="$WORK/chromium" \
    --window-size="$size" --screenshot="$WORK/$1.png" "$WORK/$1.html" >/dev/null 2>&1
  [[ -s $WORK/$1.png ]] || { echo "no picture $1" >&2; return 1; }
  python3 "$PLUGIN/tests/pictures/shrink.py" "$WORK/$1.png"
  if (($(stat -c %s "$WORK/$1.png") > 200 * 1024)); then
    echo "$1.png is larger than 200 KB" >&2
    return 1
  fi
  mkdir -p "$IMAGES"
  cp "$WORK/$1.png" "$IMAGES/$1.png"
  echo "picture $IMAGES/$1.png"
}

stop() { "${SCREEN[@]}" kill-server 2>/dev/null || true; }
