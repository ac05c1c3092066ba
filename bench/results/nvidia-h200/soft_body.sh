# The soft body of Bayraktar's Fig. 7.12b (29,618 nodes, 118 thousand springs; 32 frames per second are stated for a
# card of 2008) on the cores of the card's host and on the card: seconds per frame of a fall (frames 2 to 9) and of the
# bounce and what follows (frames 11 to 30), with what a frame launches and where its time goes. Needs the static float
# build of README.md. Ends within 5 minutes.
# Expected: eight solves of some 60 iterations per frame in contact, each 20 launches on a card: 9,000 launches, some 35 ms.
# Claim C33 (32 frames per second) holds if a line of the bounce says 32 or more.
K=${K:-build/static/kelpie}; OUT=${OUT:-.}
S=scenes/papers/bayraktar/soft_body.lua
for how in "cpu 1" "cpu 4" "cpu 16" "cuda 4"; do
  set -- $how
  timeout 100 $K run $S -o /tmp/soft_$1_$2 -f -j $2 --backend $1 --progress none --frames :30 || echo "$how failed"
  python3 - /tmp/soft_$1_$2 "$how" <<'P'
import csv, sys
perf = list(csv.DictReader(open(sys.argv[1] + "/perf.csv")))
stats = list(csv.DictReader(open(sys.argv[1] + "/stats.csv")))
def show(name, a, b):
    rows = [r for r in perf if a <= int(r["frame"]) <= b]
    n = max(1, len(rows))
    mean = lambda key: sum(float(r[key]) for r in rows) / n
    s = mean("simulate_s")
    print(f"{sys.argv[2]:8s} {name:7s} {s:8.4f} s per frame {1 / max(s, 1e-9):7.1f} frames/s, solve {mean('solve_s') / max(s, 1e-9):4.0%}, "
          f"check {mean('check_s') / max(s, 1e-9):4.0%}, {mean('launches'):6.0f} launches of {1e6 * s / max(mean('launches'), 1):5.1f} us, "
          f"{sum(int(r['substeps']) for r in stats[a:b + 1]) / n:.0f} sub-steps")
show("fall", 2, 9)
show("bounce", 11, 30)
last = stats[-1]
print(f"{'':8s} {last['bunny.count']} nodes; at the end kinetic {float(last['bunny.kinetic_energy']):.3g} J, "
      f"internal {float(last['bunny.internal_energy']):.3g} J, height {float(last['bunny.max_y']) - float(last['bunny.min_y']):.3f} m")
P
done | tee $OUT/soft_body.txt
rm -rf /tmp/soft_cpu_* /tmp/soft_cuda_*
