#!/bin/sh
# Build native/ with the address and undefined-behaviour sanitizers, into a folder of its own, and
# run the tests of kernels, malformed graphs and fuzzed graphs under them.
#
#   tools/sanitize.sh [folder of the environment] [arguments of pytest]
#
# Arrays of NumPy come from malloc, so reading or writing past one is found too. Code of oneDNN, which
# it generates while it runs, is not instrumented: what it is handed is.
set -eu
cd "$(dirname "$0")/.."
python=$PWD/${1:-.venv}/bin/python
[ $# -gt 0 ] && shift
folder=$PWD/build/sanitize

# The requirements of a build, which pip would keep in an environment of its own.
if [ ! -x "$folder/venv/bin/python" ]; then
    "$python" -m venv "$folder/venv"
    "$folder/venv/bin/pip" install --quiet cmake ninja $("$python" - <<'END'
import re
listed = re.search(r"\[build-system\]\nrequires = \[(.*?)\]", open("pyproject.toml").read(), re.S)[1]
print(*(name for name in re.findall('"(.*?)"', listed) if not name.startswith("scikit")))
END
    )
fi
PATH=$folder/venv/bin:$PATH
# vptr: libdnnl and libtvm_ffi come without the type information that it compares.
flags="-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined"
cmake -S . -B "$folder/tree" -G Ninja -DSKBUILD=ON "-DPython_EXECUTABLE=$folder/venv/bin/python" \
    -DCMAKE_BUILD_TYPE=None "-DCMAKE_CXX_FLAGS=-O1 -g1 -fno-omit-frame-pointer $flags" \
    "-DCMAKE_SHARED_LINKER_FLAGS=$flags" >"$folder/configure.log"
cmake --build "$folder/tree"
cmake --install "$folder/tree" --prefix "$folder/installed" >"$folder/install.log"

# libstdc++ beside it: the sanitizer looks for __cxa_throw when it starts.
compiler=${CXX:-c++}
export LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libstdc++.so.6)"
export BYOC_LAB_DNNL_LIBRARY="$folder/installed/byoc_lab/libbyoc_lab_dnnl.so"
# An allocation that fails is an error to handle, as without sanitizers. Memory that Python, NumPy
# and oneDNN keep until the process ends counts as leaked, so leaks are not looked for.
export ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=1"
export UBSAN_OPTIONS="print_stacktrace=1"
[ $# -gt 0 ] || set -- tests/backends/dnnl/graph/test_malformed_graphs.py tests/backends/dnnl/graph/test_hostile_graphs.py \
    tests/backends/dnnl/kernels/test_kernels.py tests/backends/dnnl/kernels/test_integer_products.py tests/backends/dnnl/kernels/test_kernel_errors.py tests/backends/dnnl/kernels/test_every_kernel.py \
    tests/backends/dnnl/graph/test_views.py tests/backends/dnnl/kernels/test_tensors.py \
    tests/backends/dnnl/graph/test_edges.py tests/backends/dnnl/graph/test_batches.py tests/backends/dnnl/graph/test_threads.py \
    tests/backends/dnnl/graph/test_graph_runtime.py tests/backends/dnnl/test_quantized.py tests/backends/dnnl/test_bands.py tests/backends/dnnl/test_bfloat16.py
exec "$python" -m pytest -m "not slow" -p no:cacheprovider "$@"
