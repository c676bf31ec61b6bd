#!/bin/bash
# install-browser.sh: the system packages that tests drive: Chromium with fonts (one of them has the signs of the step tree), and tmux.
# What is installed already stays as it is; the rest needs root.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

PACKAGES=(chromium fonts-dejavu-core fonts-symbola tmux)
locked system-packages
system_packages "${PACKAGES[@]}"
dpkg-query -W -f '${Package} ${Version}\n' "${PACKAGES[@]}"
