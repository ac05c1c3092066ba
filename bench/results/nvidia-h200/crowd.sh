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
settings="--set domain.max={1,1,1} --set output.frames=45 --backend cuda --progress none"
for go in true false; do
  timeout 110 $K run scenes/papers/hong/fig_04_stable_fluids.lua -f -o /tmp/walls_$go $settings --set level_set.lets_go=$go > "$out/walls_$go.log" 2>&1 || tail -n 2 "$out/walls_$go.log"
  cp /tmp/walls_$go/stats.csv "$out/walls_$go.csv"
done
grep -E "^ *(flip|crowd|level_set.measure)" "$out/crowd_kernels.txt" | grep -v " ok$"
tail -n 1 "$out/crowd_kernels.txt"
grep -hE -A1 "flip-[cf]" "$out"/crowd_card_*.txt "$out"/crowd_host_*.txt
python3 - "$out" <<'P'
import csv, sys
for go in ('true', 'false'):
    rows = list(csv.DictReader(open(f'{sys.argv[1]}/walls_{go}.csv')))
    energy = [float(r['water.kinetic_energy']) + float(r['water.potential_energy']) for r in rows]
    mass = [float(r['water.mass']) / float(rows[0]['water.mass']) - 1 for r in rows]
    print(f'lets_go {go}: {len(rows)} frames, volume off by {100 * max(map(abs, mass)):.2f} % at most, energy at most {max(energy[12:]) / energy[0]:.3f} of the first after 0.4 s')
P
