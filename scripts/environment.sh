# Sourced by the commands in scripts/ and .ci/run: makes .venv and keeps the package in it up to date, by uv.

unset CDPATH
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT=$PWD
VENV=$ROOT/.venv
BIN=$VENV/bin
if [[ ${OSTYPE:-} == msys ]]; then # the shell of Git on Windows
  BIN=$VENV/Scripts
fi
export PIP_DISABLE_PIP_VERSION_CHECK=1
export PIP_RETRIES=${PIP_RETRIES:-1} PIP_TIMEOUT=${PIP_TIMEOUT:-15} # without a network, say so within seconds
export UV_HTTP_RETRIES=${UV_HTTP_RETRIES:-1} UV_HTTP_TIMEOUT=${UV_HTTP_TIMEOUT:-15}
unset PYTHONDONTWRITEBYTECODE # each of the hundreds of processes of the tests would compile all that it imports
export PYTHONSAFEPATH=1 # the source folder must not stand in for the installed package

fail() {
  echo "$1" >&2
  exit 2
}

# The first Python that is new enough and can make environments.
find_python() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
      echo "$candidate"
      return
    fi
  done
  fail "a Python of version 3.11 or later with its venv module is needed, and none is on the PATH"
}

# Print uv, of the PATH or of .venv, if it knows dependency groups.
find_uv() {
  local candidate
  for candidate in "$(command -v uv || true)" "$ROOT/.venv/bin/uv" "$BIN/uv"; do
    if [[ -x $candidate ]] && "$candidate" pip install --help 2> /dev/null | grep -q -- --group; then
      echo "$candidate"
      return
    fi
  done
}

# make_venv [PYTHON]: make the environment with this Python, or the first that is found, unless it is there. uv installs
# what it needs. Where uv is absent, pip gets it. Where that fails, too, pip installs, which takes ten times as long.
make_venv() {
  local python=${1:-}
  UV=$(find_uv)
  if ! "$BIN/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
    python=${python:-$(find_python)}
    rm -rf "$VENV"
    "$python" -m venv --without-pip "$VENV" # ensurepip takes seconds
  fi
  if [[ -z $UV ]]; then
    { "$python" -m pip --python "$BIN/python" install --quiet uv || "$BIN/python" -m ensurepip &&
      "$BIN/python" -m pip install --quiet uv; } > /dev/null 2>&1 || true
    UV=$(find_uv)
    [[ -n $UV ]] || echo "uv is not on the PATH, and pip cannot install it: pip installs, which takes longer" >&2
  fi
  if [[ -n $UV ]]; then
    copy_settings
    install pip # which contributors are told to use
  fi
}

# Tell uv where pip's settings find packages.
copy_settings() {
  local settings
  if [[ -n ${UV_FIND_LINKS:-}${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-} ]]; then
    return
  fi
  settings=$({ "$BIN/python" -m pip config list || python3 -m pip config list; } 2> /dev/null || true)
  UV_DEFAULT_INDEX=$(sed -n "s/^[^ ]*\.index-url='\(.*\)'$/\1/p" <<< "$settings" | tail -n 1)
  UV_FIND_LINKS=$(sed -n "s/^[^ ]*\.find-links='\(.*\)'$/\1/p" <<< "$settings" | tail -n 1 | tr ' ' ',')
  if [[ -n $UV_DEFAULT_INDEX ]]; then export UV_DEFAULT_INDEX; else unset UV_DEFAULT_INDEX; fi
  if [[ -n $UV_FIND_LINKS ]]; then export UV_FIND_LINKS; else unset UV_FIND_LINKS; fi
}

# install ARGUMENTS: install into the environment what it lacks. Python compiles what it imports: not pip, which would
# compile all that it installs, half a minute for the peers.
install() {
  if [[ -n $UV ]]; then
    "$UV" pip install --quiet --python "$BIN/python" "$@" >&2
  else
    "$BIN/python" -m pip install --quiet --no-compile "pip>=25.1" >&2 && # for dependency groups
      "$BIN/python" -m pip install --quiet --no-compile "$@" >&2
  fi || fail "what fastndcg needs could not be installed (messages are above): it takes a network, or PIP_INDEX_URL"
}

# install_package GROUP: install the wheel with its extra `all` and this dependency group. uv builds the wheel again if a
# source has changed. The group `progress` is an extra: what a user of `scripts/demo` needs.
install_package() {
  make_venv
  local kind=$1
  if [[ -n $(find "$VENV" -path '*fastndcg-*.dist-info/direct_url.json' -exec grep -l '"editable": *true' {} +) ]]; then
    echo "the wheel takes the place of the editable install in .venv" >&2
  fi
  if [[ ! -x $BIN/fastndcg ]]; then
    echo "installing fastndcg and what $kind needs into .venv ..." >&2
  fi
  if [[ $kind == progress ]]; then
    install "$ROOT[progress]"
  else
    install "$ROOT[all]" --group "$kind"
  fi
}

# Install the tools of scripts/check and what fastndcg depends on.
install_tools() {
  make_venv
  local dependencies
  mapfile -t dependencies < <("$BIN/python" -c 'import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")')
  install "${dependencies[@]}" --group lint
}

# Build the machine code of the kernels that changed, into the user's cache. Without a C compiler, Numba compiles.
build_kernels() {
  "$BIN/python" -m fastndcg.kernels.native.build >&2 || echo "no machine code could be built: Numba compiles kernels" >&2
}
