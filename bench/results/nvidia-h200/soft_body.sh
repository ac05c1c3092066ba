# The soft body of Bayraktar's Fig. 7.12b (29,618 nodes, 118 thousand springs; 32 frames per second are stated for a
# card of 2008) on the cores of the card's host and on the card, with the implicit steps of the scene: seconds per frame
# of a fall of ten frames. Needs the static float build of README.md. Ends within 4 minutes.
# Expected: some 0.3 s per frame on 16 cores; on the card below 0.1 s if products of the solver take 10 us each. Claim C33
# (32 frames per second) holds if a line says 32 or more.
K=${K:-build/static/kelpie}; OUT=${OUT:-.}
S=scenes/papers/bayraktar/soft_body.lua
for how in "cpu 1" "cpu 16" "cuda 4"; do
  set -- $how
  export OMP_NUM_THREADS=$2 GOMP_SPINCOUNT=1000
  timeout 90 $K run $S -o /tmp/soft_$1_$2 -f -j $2 --backend $1 --progress none --frames :10 || echo "$how failed"
  python3 - /tmp/soft_$1_$2 "$how" <<'P'
import csv, sys
rows = [r for r in csv.DictReader(open(sys.argv[1] + "/perf.csv")) if int(r["frame"]) > 1]
stats = list(csv.DictReader(open(sys.argv[1] + "/stats.csv")))
seconds = sum(float(r["simulate_s"]) for r in rows) / max(1, len(rows))
steps = sum(int(r["substeps"]) for r in stats[2:]) / max(1, len(stats[2:]))
print(f"{sys.argv[2]:24s} {seconds:8.4f} s per frame {1 / max(seconds, 1e-9):8.1f} frames/s, "
      f"{steps:.0f} sub-steps per frame, {stats[-1]['bunny.count']} nodes")
P
done | tee $OUT/soft_body.txt
rm -rf /tmp/soft_cpu_* /tmp/soft_cuda_*
