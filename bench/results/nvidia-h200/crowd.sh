#!/usr/bin/env bash
# FLIP since its crowds are parted by kernels: all kernels against the CPU, its two scenes on the card with the shares of their stages, on one core
# of the host, and the dam of Hong's Fig. 4 under a low ceiling (what walls.sh runs). Needs a card and build/static/kelpie, writes to $OUT (or
# here), about seven minutes.
# Expected: no kernel of flip, flip_band or crowd differs; flip-c on the card 30 M cells/s or more at 128 cells where it was 8 (stage "space" was
# 75 % of it and should be some 15 %), no thread that works alone; flip-f as it was, 38 and 179 M particles/s, or more.
# Walls: volume within 3 % and energy that falls; held, 18 % too much at 1.2 s and more energy than at the start.
set -u
out=${OUT:-.}
K=build/static/kelpie
timeout 150 $K bench kernels --backend cuda > "$out/crowd_kernels.txt" 2>&1
for size in 64 128 256; do
  timeout 60 $K bench flip-c flip-f --size $size --backend cuda --repeat 3 > "$out/crowd_card_$size.txt" 2>&1
done
for size in 64 128; do
  timeout 30 $K bench flip-c --size $size --threads 1 --repeat 2 > "$out/crowd_host_$size.txt" 2>&1
done
grep -E "^ *(flip|crowd|level_set.measure)" "$out/crowd_kernels.txt" | grep -v " ok$"
tail -n 1 "$out/crowd_kernels.txt"
grep -hE -A1 "flip-[cf]" "$out"/crowd_card_*.txt "$out"/crowd_host_*.txt
bash bench/results/nvidia-h200/walls.sh
