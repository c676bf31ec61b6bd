# shellcheck shell=bash
# lib.sh: what the install scripts of the test environment share. Source it.
#
# Programs that Debian's stable release lacks (a new Neovim, llama-server) come from another suite of
# the mirror that this machine's apt already uses, into a private prefix: an apt root of its own with
# an empty package status downloads the programs with all their libraries, libc included, and
# dpkg-deb unpacks them. Nothing of the system is changed or upgraded, and no root is needed.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TESTENV=${AGENT_LSP_TESTENV:-$(cd "$HERE/../.." && pwd)/.cache/testenv}
TRIES=3          # attempts at each network step before the script gives up
LOCK_SECONDS=900 # how long one run waits for another's
MULTIARCH=$(uname -m)-linux-gnu

say() { printf '%s\n' "$*"; }
die() { printf 'testenv: %s\n' "$*" >&2; exit 1; }

# retry COMMAND...: run it at most TRIES times, a little longer apart each time.
retry() {
  local n
  for ((n = 1; ; n++)); do
    "$@" && return 0
    ((n < TRIES)) || return 1
    say "testenv: attempt $n of $TRIES failed: $*" >&2
    sleep $((n * 2))
  done
}

# locked NAME: from here on only one run of this script works on NAME.
locked() {
  mkdir -p "$TESTENV"
  exec 9>"$TESTENV/.$1.lock"
  flock -w "$LOCK_SECONDS" 9 || die "another run has held $TESTENV/.$1.lock for ${LOCK_SECONDS} s: end it, then try again"
}

# ready PREFIX KEY: true when PREFIX holds a finished install of KEY; prints its versions.
# The file's first line is the key, the rest are the versions.
ready() {
  local key
  [[ -f $1/.ready ]] || return 1
  { read -r key && [[ $key == "$2" ]] && while read -r line; do say "$line"; done; } <"$1/.ready"
}

# finish PREFIX KEY VERSIONS: marks PREFIX as finished. Nothing may come after it.
finish() { printf '%s\n%s\n' "$2" "$3" >"$1/.ready.new" && mv "$1/.ready.new" "$1/.ready" && say "$3"; }

# mirror: the Debian mirror of this machine's own apt sources.
mirror() {
  local m=${DEBIAN_MIRROR:-}
  [[ -n $m ]] || m=$(apt-get indextargets --format "\$(SITE)" | grep -m1 '/debian/\?$') ||
    die "no Debian mirror in this machine's apt sources: set DEBIAN_MIRROR to one"
  say "$m"
}

# unpack_suite PREFIX SUITE PACKAGE...: the packages and all that they depend on, unpacked in PREFIX.
# PREFIX/versions lists what was unpacked.
unpack_suite() {
  local prefix=$1 suite=$2 a=$1/.apt keyring=/usr/share/keyrings/debian-archive-keyring.gpg d
  shift 2
  command -v dpkg-deb >/dev/null || die "dpkg-deb is missing: these scripts need Debian or a relative of it"
  [[ -f $keyring ]] || die "$keyring is missing: apt-get install debian-archive-keyring"
  mkdir -p "$a"/lists/partial "$a"/cache/archives/partial
  : >"$a/status"
  local site
  site=$(mirror) || exit 1
  say "deb [arch=$(dpkg --print-architecture) signed-by=$keyring] $site $suite main" >"$a/sources.list"
  # The machine's own proxy and clock settings are kept (a mirror that lags makes a testing suite's
  # Release file look expired); all its other apt settings stay out.
  local CVU=true CD=true PROXY=''
  eval "$(apt-config shell CVU Acquire::Check-Valid-Until CD Acquire::Check-Date PROXY Acquire::http::Proxy)"
  cat >"$a/apt.conf" <<C
Acquire::Check-Valid-Until "$CVU"; Acquire::Check-Date "$CD"; Acquire::http::Proxy "$PROXY";
Acquire::Retries "$TRIES"; Acquire::Languages "none"; Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Dir::Etc::main "/dev/null"; Dir::Etc::parts "/dev/null"; Dir::Etc::sourcelist "$a/sources.list"; Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null"; Dir::Etc::preferencesparts "/dev/null";
Dir::State "$a"; Dir::State::lists "$a/lists"; Dir::State::status "$a/status"; Dir::Cache "$a/cache"; Dir::Log "$a";
APT::Sandbox::User "root"; APT::Install-Recommends "false"; Debug::NoLocking "true";
C
  # APT_CONFIG is read first; its Dir::Etc::parts keeps /etc/apt/apt.conf.d out.
  APT_CONFIG=$a/apt.conf retry apt-get update -qq --error-on=any || die "apt cannot read suite $suite of $site"
  APT_CONFIG=$a/apt.conf retry apt-get install -y -qq --download-only "$@" >/dev/null || die "apt cannot download $* from $suite of $site"
  for d in "$a"/cache/archives/*.deb; do
    dpkg-deb -x "$d" "$prefix" || die "cannot unpack $d"
    dpkg-deb -W --showformat='${Package} ${Version}\n' "$d"
  done >"$prefix/versions"
  rm -rf "$a"
}

# loader LIB: the dynamic loader among the unpacked libraries of folder LIB.
loader() {
  local f
  for f in "$1"/ld-linux-*.so.*; do [[ -f $f ]] && say "$f" && return; done
  die "no dynamic loader in $1"
}

# system_packages PACKAGE...: installs what is missing of them with the system's apt (needs root).
system_packages() {
  local missing=() p
  for p; do [[ $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) == installed ]] || missing+=("$p"); done
  ((${#missing[@]})) || return 0
  ((EUID == 0)) || die "not installed: ${missing[*]}; as root: apt-get install ${missing[*]}"
  local opts=(-qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries="$TRIES")
  export DEBIAN_FRONTEND=noninteractive
  install_missing() {
    # A half-done install by another apt at the same moment is repaired before the next attempt.
    apt-get "${opts[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null && return 0
    apt-get "${opts[@]}" update
    apt-get "${opts[@]}" -f install -y >/dev/null
    return 1
  }
  retry apt-get "${opts[@]}" update || die "apt-get update failed"
  retry install_missing || die "apt cannot install ${missing[*]}"
}

# need_npm: npm, from the machine or else from its package manager.
need_npm() {
  # Node has certificates of its own; where the machine trusts more (a company's proxy), npm must too.
  [[ -n ${NODE_EXTRA_CA_CERTS:-} || ! -e /etc/ssl/certs/ca-certificates.crt ]] || export NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
  command -v npm >/dev/null && return 0
  (
    locked system-packages
    system_packages nodejs npm
  ) || exit 1
}
