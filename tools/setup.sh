#!/bin/sh
# Make a virtual environment and install byoc_lab with its extras in it. Does only what is missing:
# a stamp remembers what was installed from which sources.
#
#   tools/setup.sh [folder of the environment]
set -eu
venv=${1:-.venv}
cd "$(dirname "$0")/.."

fail() {
    printf '\nbyoc_lab: %s\n' "$1" >&2
    printf '  %s\n' "$2" >&2
    exit 1
}

usable() {
    "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

# What the installation depends on: the build files, the C++ sources, this script, and which folders
# the package has (an editable installation finds new modules by itself, new folders not).
stamp=$venv/.installed-$({
    find byoc_lab -name '__init__.py' | LC_ALL=C sort
    cat pyproject.toml CMakeLists.txt tools/setup.sh $(find native -type f | LC_ALL=C sort)
} | cksum | tr ' ' '-')
[ -f "$stamp" ] && exit 0

python=
for name in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
    if usable "$name"; then
        python=$name
        break
    fi
done
if [ -z "$python" ]; then
    found=$(python3 --version 2>/dev/null || echo "no python3")
    fail "needs Python 3.10 to 3.13, found $found." \
        "Install one (Debian, Ubuntu: sudo apt-get install python3 python3-venv), or name it: make setup PYTHON=python3.12"
fi
"$python" -c 'import ensurepip, venv' 2>/dev/null || fail \
    "needs Python's venv module, and $("$python" --version) has none." \
    "Install it (Debian, Ubuntu: sudo apt-get install python3-venv)"
command -v "${CXX:-c++}" >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || fail \
    "needs a C++17 compiler to build its DNNL extension, and found none." \
    "Install one (Debian, Ubuntu: sudo apt-get install g++), or name it in the environment variable CXX"

echo "byoc_lab: installing into $venv (a few minutes the first time)"
if [ ! -x "$venv/bin/python" ] || ! usable "$venv/bin/python"; then
    "$python" -m venv --clear "$venv"
fi
rm -f "$venv"/.installed-*
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
touch "$stamp"
