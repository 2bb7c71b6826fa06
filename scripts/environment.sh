# Sourced by the commands in scripts/ and .ci/run: makes .venv and keeps the package in it up to date.

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

# make_venv [PYTHON]: make the environment with this Python, or the first that is found, unless it is there.
make_venv() {
  if ! "$BIN/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
    local python
    python=${1:-$(find_python)}
    rm -rf "$VENV"
    "$python" -m venv "$VENV"
  fi
}

# What the wheel is made from as one hash, pyproject.toml as another, and "editable" or "wheel": what is installed.
describe_sources() {
  "$BIN/python" - << 'PYTHON'
import hashlib
import pathlib
from importlib import metadata

digest = hashlib.sha256()
files = [pathlib.Path(name) for name in ("pyproject.toml", "README.md", "LICENSE")]
files += (path for path in pathlib.Path("fastndcg").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
for path in sorted(files):
    digest.update(f"{path}\0{path.stat().st_size}\0".encode() + path.read_bytes())
try:
    origin = metadata.distribution("fastndcg").read_text("direct_url.json") or ""
except metadata.PackageNotFoundError:
    origin = ""
settings = hashlib.sha256(pathlib.Path("pyproject.toml").read_bytes())
print(digest.hexdigest(), settings.hexdigest(), "editable" if '"editable": true' in origin else "wheel")
PYTHON
}

# run_pip COMMAND ARGUMENTS: run pip, whose output goes to standard error.
run_pip() {
  "$BIN/python" -m pip "$@" >&2 ||
    fail "pip could not install what fastndcg needs (its messages are above): it takes a network, or PIP_INDEX_URL"
}

# install_package GROUP: build the wheel and install it with its extra `all` and this dependency group, unless that was
# done with the same sources. The group `progress` is an extra: what a user of `scripts/demo` needs. Python compiles what
# it imports: pip would compile all that it installs, which takes half a minute for the peers.
install_package() {
  make_venv
  local stamp=$VENV/installed have=() groups=() group implied wheel hash settings kind
  read -r hash settings kind < <(describe_sources)
  if [[ -f $stamp ]]; then
    read -r -a have < "$stamp"
  fi
  if [[ ${have[1]:-} == "$settings" ]]; then
    groups=("${have[@]:2}")
  fi
  if [[ ${have[0]:-} == "$hash" && $kind == wheel && " ${groups[*]:-} " == *" $1 "* ]]; then
    return
  fi
  if [[ $kind == editable ]]; then
    echo "the wheel takes the place of the editable install in .venv" >&2
  fi
  local size="" shown=--quiet
  if [[ $1 == progress ]]; then
    size=", about 80 MB to download (numpy, numba, llvmlite)"
  fi
  if [[ -t 2 ]]; then
    shown=--progress-bar=on
  fi
  echo "installing fastndcg and what $1 needs into .venv$size ..." >&2
  rm -rf "$ROOT/.whl" "$stamp"
  run_pip wheel --quiet --no-deps --wheel-dir "$ROOT/.whl" "$ROOT"
  wheel=("$ROOT"/.whl/fastndcg-*.whl)
  case $1 in
    progress) implied=progress ;;
    peers | bench | docs) implied="progress test $1" ;;
    *) implied="progress $1" ;;
  esac
  if [[ $1 == progress ]]; then
    run_pip install --no-compile "$shown" "${wheel[0]}[progress]"
  else
    update_pip
    run_pip install --no-compile "$shown" "${wheel[0]}[all]" --group "$1"
  fi
  run_pip install --no-compile --quiet --no-deps --force-reinstall "${wheel[0]}"
  for group in $implied; do
    [[ " ${groups[*]:-} " == *" $group "* ]] || groups+=("$group")
  done
  echo "$hash" "$settings" "${groups[@]}" > "$stamp"
}

# Install the tools of scripts/check and what fastndcg depends on, unless that was done with the same pyproject.toml.
install_tools() {
  make_venv
  local stamp=$VENV/tools dependencies
  if cmp -s "$ROOT/pyproject.toml" "$stamp"; then
    return
  fi
  echo "installing the tools of scripts/check into .venv ..." >&2
  read -r -a dependencies < <("$BIN/python" -c 'import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"])')
  update_pip
  run_pip install --no-compile --quiet "${dependencies[@]}" --group lint
  cp "$ROOT/pyproject.toml" "$stamp"
}

# Dependency groups need pip 25.1.
update_pip() {
  if ! "$BIN/python" -m pip install --help | grep -q -- --group; then
    run_pip install --no-compile --quiet --upgrade "pip>=25.1"
  fi
}

# Build the machine code of the kernels that changed, into the user's cache. Without a C compiler, Numba compiles.
build_kernels() {
  "$BIN/python" -m fastndcg.kernels.native.build >&2 || echo "no machine code could be built: Numba compiles kernels" >&2
}
