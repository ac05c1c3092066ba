#!/usr/bin/env bash
# Every kernel of the library on the card against the CPU from the same bits, in float and, where
# that build is there, in double. Needs a card, build/static/kelpie and build/static-double/kelpie;
# writes to $OUT (or here), about two minutes each.
# Expected: no row that is off or was never launched, in either precision, each within 100 s.
set -u
out=${OUT:-.}
for name in static static-double; do
  K=build/$name/kelpie
  [ -x "$K" ] || { echo "$name: not built"; continue; }
  begin=$(date +%s)
  timeout 260 "$K" bench kernels --backend cuda > "$out/kernels_$name.txt" 2>&1
  echo "$name: status $?, $(($(date +%s) - begin)) s"
  grep -E -A1 "FAIL|NEVER" "$out/kernels_$name.txt"
  tail -n 1 "$out/kernels_$name.txt"
done
