#!/usr/bin/env bash
# The tests marked native at each instruction set below this machine's own, at which `make test`
# runs them: machines.sh PYTEST...
# Sets that this machine lacks are named and left out.
set -euo pipefail
cd "$(dirname "$0")/.."

has() { grep -qwm1 "$1" /proc/cpuinfo; }

levels=()
left_out=()
for level in SSE41:sse4_1 AVX2:avx2 AVX512_CORE:avx512bw; do
    if has "${level#*:}"; then levels+=("${level%:*}"); else left_out+=("${level%:*}"); fi
done
# The last of these is the machine's own, unless oneDNN uses more here: AVX, AVX2_VNNI, ...
case ${levels[-1]} in SSE41) more=avx ;; AVX2) more=avx_vnni ;; *) more=avx512_vnni ;; esac
has $more || unset "levels[-1]"

mkdir -p build/machines
mapfile -t files < <(grep -rlE "mark\.native" tests --include='test_*.py' --exclude-dir=browser | sort)
failed=()
for level in "${levels[@]}"; do
    echo "== ONEDNN_MAX_CPU_ISA=$level"
    if ! env ONEDNN_MAX_CPU_ISA="$level" "$@" -m "native and not slow and not notebook" "${files[@]}" |
        tee "build/machines/$level"; then
        failed+=("$level")
    fi
done

for level in "${left_out[@]}"; do echo "left out: $level, which this machine does not have"; done
for level in "${levels[@]}"; do
    sed -nE "s/^SKIPPED (.*: needs (SSE|AVX|AMX|VNNI).*)/skipped at $level: \1/p" "build/machines/$level"
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed at: ${failed[*]}"
    exit 1
fi
echo "passed at: ${levels[*]}"
