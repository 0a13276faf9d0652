#!/usr/bin/env bash
# tests/pack/chroot_test.sh TESSERA CONFIG - a folder of `tessera pack
# --with-runtime` trains in a chroot that holds it, libc and torch's libraries
# alone (and /dev, /proc), and no compiler's library is in the process. Needs root.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
tessera=$1 config=$2
fail() {
  echo "chroot_test: $*" >&2
  exit 1
}
# The mounts below are this process's own, and go with it.
if [ -z "${IN_NAMESPACE:-}" ]; then
  IN_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
fi
work=$(mktemp -d)
root=$work/root
trap 'umount -l "$root"/{dev,proc,site/torch/lib,site/nvidia} 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT

"$tessera" pack --config "$config" --targets cpu --with-runtime -o "$work/packed" >"$work/log" 2>&1 ||
  fail "no pack: $(cat "$work/log")"
# What the folder's script sets for the program.
mkdir -p "$work/stub/bin"
cp "$work/packed/train" "$work/stub/"
printf '#!/bin/sh\necho "$TESSERA_PACK $LD_LIBRARY_PATH"\n' >"$work/stub/bin/tessera-train"
chmod +x "$work/stub/bin/tessera-train"
said=$(env -u TESSERA_PACK -u LD_LIBRARY_PATH TORCH_LIB=/torch "$work/stub/train")
[ "$said" = "$work/stub/run.tpack $work/stub/lib:/torch" ] || fail "the script sets: $said"
mkdir -p "$root"/{dev,lib64,lib,proc,site/torch/lib,site/nvidia,tmp}
mv "$work/packed" "$root/packed"
for i in $(seq 2000); do echo "the tile of stone is laid upon a floor, and then $((i * i % 97)) walls rise."; done >"$root/text"

# Torch's own folders, and what else the loader wants and the folder lacks:
# libc and the compiler's runtime.
libraries=$(LD_TRACE_LOADED_OBJECTS=1 "$(dirname "$tessera")/tessera-train")
torch=$(dirname "$(awk '/libtorch_cpu.so/ {print $3}' <<<"$libraries")")
mount --bind "$torch" "$root/site/torch/lib"
mount --bind /dev "$root/dev"
mount --bind /proc "$root/proc"
[ ! -d "$torch/../../nvidia" ] || mount --bind "$torch/../../nvidia" "$root/site/nvidia"
cp "$(awk '/ld-linux/ {for (i = 1; i <= NF; ++i) if ($i ~ /^\//) {print $i; exit}}' <<<"$libraries")" "$root/lib64/"
for library in $(awk '/=> \// {print $3}' <<<"$libraries"); do
  case $(basename "$library") in
  libc.* | libm.* | libdl.* | libpthread.* | librt.* | libutil.* | libstdc++.* | libgcc_s.*) cp -L "$library" "$root/lib/" ;;
  esac
done

env -i HOME=/tmp LD_LIBRARY_PATH=/packed/lib:/site/torch/lib:/lib TESSERA_PACK=/packed/run.tpack \
  "$(PATH=$PATH:/usr/sbin:/sbin command -v chroot)" "$root" /packed/bin/tessera-train train --config /packed/run.yaml data.path=/text out=/tmp/run train.steps=20 \
  >"$work/train" 2>&1 &
pid=$!
: >"$work/maps"
while kill -0 $pid 2>/dev/null; do # its memory as long as it runs
  cat /proc/$pid/maps >>"$work/maps" 2>/dev/null || true
  sleep 0.02
done
wait $pid || fail "it does not train: $(cat "$work/train")"
metrics=$root/tmp/run/metrics.json
grep -q '"kernels_compiled": 0' "$metrics" && grep -q '"compiler_processes": 0' "$metrics" &&
  grep -q '"kernels_not_in_pack": 0' "$metrics" || fail "it compiled: $(cat "$work/train" "$metrics")"
grep -q 'libtorch_cpu' "$work/maps" && grep -q 'libtessera_torch' "$work/maps" || fail "its memory was not seen"
if grep -iE '/[^/ ]*(llvm|mlir|lld|ptxas|nvrtc)[^/ ]*$' "$work/maps"; then
  fail "a compiler's library is in the process"
fi
echo "chroot_test: $(grep '^kernels:' "$work/train"); $(du -sm "$root/packed" | cut -f1) MB without torch"
