# Sourced by the scripts: `root` is the project folder; `ensure_venv base|test|fpga` makes .venv ready for use.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
python=$root/.venv/bin/python

find_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "flashtile needs Python 3.11 or newer as python3 on PATH; found: $(python3 --version 2>/dev/null || echo none)" >&2
    return 1
}

# What an installation depends on. The folder belongs to it: an editable installation holds its path.
fingerprint() {
    echo "$root"
    cksum <"$root/setup.cfg"
    cksum <"$root/pyproject.toml"
}

installed() { # base|test|fpga
    [ -x "$python" ] && [ "$(cat "$root/.venv/installed-$1" 2>/dev/null)" = "$(fingerprint)" ]
}

# Runs a command quietly; shows what it printed if it fails.
quietly() {
    local output
    if ! output=$("$@" 2>&1); then
        printf '%s\n' "$output" >&2
        echo "failed: $*" >&2
        return 1
    fi
}

install_venv() { # base|test|fpga
    local base target=$root
    [ "$1" = base ] || target="$root[$1]"
    echo "installing flashtile into .venv ..." >&2
    # An installation that is cut short from here on leaves no mark, and is done again.
    local mark
    for mark in "$root"/.venv/installed-*; do
        [ "$(cat "$mark" 2>/dev/null)" = "$(fingerprint)" ] || rm -f "$mark"
    done
    rm -f "$root/.venv/installed-$1"
    if ! "$python" -m pip show --quiet pip >/dev/null 2>&1; then # no .venv, or one cut short
        base=$(find_python) || return
        quietly "$base" -m venv --clear "$root/.venv" || return
    fi
    quietly "$python" -m pip install --quiet --disable-pip-version-check --editable "$target" || return
    fingerprint >"$root/.venv/installed-$1"
    [ "$1" = base ] || fingerprint >"$root/.venv/installed-base"
}

# The project folder itself is the lock: two scripts started at once install one after the other.
ensure_venv() { # base|test|fpga
    installed "$1" && return
    exec 9<"$root"
    if command -v flock >/dev/null && ! flock -n 9; then
        echo "waiting for another installation into .venv ..." >&2
        flock 9
    fi
    installed "$1" || install_venv "$1" || return
    exec 9<&-
}
