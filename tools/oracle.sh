#!/bin/sh
# Install a real TVM 0.16 with Relay into an environment of its own. It is a wheel for Python 3.10;
# the tests compare byoc_lab with it, the package never needs it.
#
#   tools/oracle.sh [folder of the environment]
set -eu
venv=${1:-.oracle-venv}
cd "$(dirname "$0")/.."
[ -f "$venv/.installed" ] && exit 0

is_310() {
    "$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 10))' 2>/dev/null
}

managed=
if command -v pyenv >/dev/null; then
    managed=$(ls -d "$(pyenv root)"/versions/3.10*/bin/python3.10 2>/dev/null || true)
fi
python=
for name in ${BYOC_LAB_PYTHON310:-} python3.10 $managed; do
    if is_310 "$name"; then
        python=$name
        break
    fi
done
if [ -z "$python" ]; then
    echo "byoc_lab: the real TVM 0.16 needs Python 3.10, and none was found." >&2
    echo "  Install it, or name it in the environment variable BYOC_LAB_PYTHON310" >&2
    exit 1
fi
echo "byoc_lab: installing TVM 0.16 into $venv"
"$python" -m venv --clear "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    "hhb-tvm==3.2.3" "numpy<2" "onnx==1.14.1" tqdm tflite pytest
touch "$venv/.installed"
