#!/bin/sh
# Make a virtual environment and install byoc_lab in it, with what one level adds:
#
#   lab      the package, and ONNX for one notebook (every level begins with this)
#   test     what `make test` needs
#   browser  what `make browser` needs
#   check    what `make check` needs
#   docs     what `make docs` needs
#   dev      all of this, and what the slow tests need
#
# Does only what is missing: a stamp for each level remembers what was installed from which sources.
# Installs with uv if it is on PATH, else with pip.
#
#   tools/setup.sh [folder of the environment] [level]
set -eu
venv=${1:-.venv}
level=${2:-dev}
cd "$(dirname "$0")/.."

fail() {
    printf '\nbyoc_lab: %s\n' "$1" >&2
    printf '  %s\n' "$2" >&2
    exit 1
}

case $level in
    lab | test | browser | check | docs | dev) ;;
    *) fail "unknown level '$level'." "Expected lab, test, browser, check, docs or dev" ;;
esac

usable() {
    "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null
}

# What is installed is compiled to byte code when it is first used, as uv does: most of it never is.
install() { # a requirement, or --editable and a folder
    if command -v uv >/dev/null; then
        uv pip install --python "$venv/bin/python" "$@" && return
        echo "byoc_lab: uv failed (see above); installing with pip, whose settings may be others"
    fi
    "$venv/bin/python" -m pip install --disable-pip-version-check --no-compile "$@"
}

checksum() {
    cat "$@" | cksum | tr ' ' '-'
}

# What the package depends on: the build files, the C++ sources, this script, and which folders the
# package has (an editable installation finds new modules by itself, new folders not).
folders=$(find byoc_lab -name '__init__.py' | LC_ALL=C sort | cksum | tr ' ' '-')
lab=$venv/.installed-lab-$folders-$(
    checksum pyproject.toml CMakeLists.txt tools/setup.sh $(find native -type f | LC_ALL=C sort)
)
added=$(checksum pyproject.toml tools/setup.sh)

if [ ! -f "$lab" ]; then
    python=
    for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python3.10}; do
        if usable "$name"; then
            python=$name
            break
        fi
    done
    if [ -z "$python" ]; then
        found=$(python3 --version 2>/dev/null || echo "no python3")
        fail "needs Python 3.10 to 3.14, found $found." \
            "Install one (Debian, Ubuntu: sudo apt-get install python3 python3-venv), or name it: make lab PYTHON=python3.12"
    fi
    "$python" -c 'import ensurepip, venv' 2>/dev/null || fail \
        "needs Python's venv module, and $("$python" --version) has none." \
        "Install it (Debian, Ubuntu: sudo apt-get install python3-venv)"
    command -v "${CXX:-c++}" >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || fail \
        "needs a C++17 compiler to build its DNNL extension, and found none." \
        "Install one (Debian, Ubuntu: sudo apt-get install g++), or name it in the environment variable CXX"

    echo "byoc_lab: installing the package into $venv: TVM, JupyterLab, ONNX; compiling the DNNL extension"
    if [ ! -x "$venv/bin/python" ] || ! usable "$venv/bin/python"; then
        "$python" -m venv --clear "$venv"
    fi
    rm -f "$venv"/.installed-lab-*
    install --editable '.[onnx]'
    touch "$lab"
fi

[ "$level" != lab ] || exit 0
[ ! -f "$venv/.installed-dev-$added" ] && [ ! -f "$venv/.installed-$level-$added" ] || exit 0
case $level in
    test) what="what the tests need: pytest, Hypothesis, ONNX Runtime, SciPy" ;;
    browser) what="what the tests in a browser need: pytest and Playwright (Chromium is not installed)" ;;
    check) what="what the checks need: ruff and mypy" ;;
    docs) what="what the documentation needs: MkDocs" ;;
    dev) what="what every target needs: the tests, a browser's driver, nbgrader, Dask, ruff, mypy, MkDocs" ;;
esac
echo "byoc_lab: installing into $venv $what"
rm -f "$venv/.installed-$level"-*
# The package is there, so this installs its extra alone, and compiles nothing.
install "byoc-lab[$level]"
touch "$venv/.installed-$level-$added"
