# What docs/benchmarks.md records of the card: float and double builds, static binaries.
K=build/static/kelpie; D=build/static-double/kelpie
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
echo "== speed, cuda, float"
for n in 262144 1000000 4000000 16000000 20000000; do $K bench sph-a --size $n --backend cuda --repeat 3 2>&1 | tail -2; $K bench sph-a --size $n --backend cuda --repeat 3 --json >> ${OUT:-.}/h200.jsonl; done
for n in 400000 1100000 4400000 13300000; do $K bench sph-b --size $n --backend cuda --repeat 3 2>&1 | tail -2; $K bench sph-b --size $n --backend cuda --repeat 3 --json >> ${OUT:-.}/h200.jsonl; done
echo "== every kernel against the cpu"
$K bench kernels --backend cuda > ${OUT:-.}/kernels_float.txt 2>&1; tail -1 ${OUT:-.}/kernels_float.txt; grep -E "FAIL|never" ${OUT:-.}/kernels_float.txt
$D bench kernels --backend cuda > ${OUT:-.}/kernels_double.txt 2>&1; tail -1 ${OUT:-.}/kernels_double.txt; grep -E "FAIL|never" ${OUT:-.}/kernels_double.txt
echo "== cpu against cuda, double, 100 steps"
S="--set simulation.dt=1e-4 --set output.fps=100 --set output.frames=1 --progress none"
for b in cpu cuda; do $D run scenes/demo/dam_break.lua -o /tmp/c_$b --backend $b $S || echo run $b failed; done
python3 tools/compare-runs /tmp/c_cpu /tmp/c_cuda --program $D --length 0.04 --tolerance 1e-4
echo "== bytes copied between outputs (perf.csv of a cuda run)"
$K run scenes/demo/dam_break.lua -o /tmp/p --backend cuda --set output.frames=4 --progress none; python3 - <<'P'
import csv
rows=list(csv.DictReader(open('/tmp/p/perf.csv')))
keys=[k for k in rows[0] if 'bytes' in k or 'copies' in k or k in('frame','substeps')]
for r in rows: print({k:r[k] for k in keys})
P
echo "== cpu on the 16-core host"
for t in 1 2 4 8 16; do GOMP_SPINCOUNT=1000 $K bench sph-a --size 493039 --threads $t --repeat 2 2>&1 | tail -2 | head -1; done
