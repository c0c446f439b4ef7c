#!/bin/sh
# Build the extension against the oneDNN of the package `onednn`, which runs on SYCL, and try it: its
# version, the faults that it has, and the time of some forms on it and on LLVM (native/README.md).
#
#   tools/onednn_trial.sh [folder of the environment] [version]
set -eu
cd "$(dirname "$0")/.."
python=$PWD/${1:-.venv}/bin/python
version=${2:-2026.1.0}
folder=$PWD/build/onednn_trial
root=$folder/venv

if [ ! -x "$root/bin/python" ]; then
    "$python" -m venv "$root"
    "$root/bin/pip" install --quiet cmake ninja "apache-tvm-ffi>=0.1.15,<0.2" \
        "onednn==$version" "onednn-devel==$version"
fi
PATH=$root/bin:$PATH

# The package has no CMake configuration.
mkdir -p "$folder/cmake"
cat >"$folder/cmake/dnnl-config.cmake" <<END
add_library(DNNL::dnnl SHARED IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION "$root/lib/libdnnl.so.3"
  INTERFACE_INCLUDE_DIRECTORIES "$root/include")
END
cat >"$folder/cmake/dnnl-config-version.cmake" <<END
set(PACKAGE_VERSION 3.13)
set(PACKAGE_VERSION_COMPATIBLE TRUE)
END
cmake -S . -B "$folder/tree" -G Ninja -DSKBUILD=ON "-DPython_EXECUTABLE=$root/bin/python" \
    -DCMAKE_BUILD_TYPE=Release -DBYOC_LAB_ONEDNN=system "-Ddnnl_DIR=$folder/cmake" \
    >"$folder/configure.log"
cmake --build "$folder/tree"
cmake --install "$folder/tree" --prefix "$folder/installed" >"$folder/install.log"

export LD_LIBRARY_PATH="$root/lib" OCL_ICD_FILENAMES="$root/lib/libintelocl.so"
"${CXX:-c++}" -std=c++17 native/probes/onednn_faults.cc -I"$root/include" -L"$root/lib" \
    -l:libdnnl.so.3 -Wl,--allow-shlib-undefined -o "$folder/onednn_faults"
"$folder/onednn_faults"
export BYOC_LAB_DNNL_LIBRARY="$folder/installed/byoc_lab/libbyoc_lab_dnnl.so"
"$python" -m byoc_lab.cli doctor | grep oneDNN
"$python" benchmarks/fallbacks.py --out "$folder"
