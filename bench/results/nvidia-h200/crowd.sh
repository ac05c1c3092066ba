#!/usr/bin/env bash
# FLIP since crowds are parted at the end of steps and water lets go of solids: its kernels against
# the CPU, its speed on the card, and on one core of the host, which should be an idle one. Needs a
# card and build/static/kelpie, writes to $OUT (or here), about four minutes.
# Expected: no kernel of flip, flip_band or release differs; flip-c on one core at 85 to 95 % of what
# it was (scaled from 4.0 and 4.3 M cell-steps/s of a Zen 4 core); on the card positions travel to
# the host in steps that have crowds, so flip-c there is slower than flip-f would let one think.
set -u
out=${OUT:-.}
K=build/static/kelpie
timeout 200 $K bench kernels --backend cuda > "$out/crowd_kernels.txt" 2>&1
for size in 64 128; do
  timeout 60 $K bench flip-c flip-f --size $size --threads 1 --repeat 3 > "$out/crowd_host_$size.txt" 2>&1
  timeout 60 $K bench flip-c flip-f --size $size --backend cuda --repeat 3 > "$out/crowd_card_$size.txt" 2>&1
done
grep -E "^ *(flip|release)" "$out/crowd_kernels.txt"
tail -n 1 "$out/crowd_kernels.txt"
grep -hE "flip-[cf]" "$out"/crowd_host_*.txt "$out"/crowd_card_*.txt
