# Surfaces on the card: rates, the eighteen cells of Lyes 2015 (Tables 7.1 and 7.2), all fields, and whether
# meshes are those of the CPU. Needs the static float build of README.md, nothing else.
K=${K:-build/static/kelpie}; OUT=${OUT:-.}
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
echo "== kernels of surfaces against the cpu"
$K bench kernels --backend cuda --size 4000 > $OUT/kernels_surface.txt 2>&1; grep -E "^(surface|marching)\." $OUT/kernels_surface.txt
echo "== meshes against the cpu: the last column must be 0"
$K study surface-backends --backend cuda
echo "== particles to triangles"
for n in 100000 1000000 8000000; do for b in cuda cpu; do $K bench surface --size $n --backend $b --threads 1 --repeat 5 2>&1 | tail -1; done; done
echo "== lattices to triangles"
for n in 128 256 512; do for b in cuda cpu; do $K bench marching-cubes --size $n --backend $b --threads 1 --repeat 5 2>&1 | tail -1; done; done
echo "== eighteen cells, and six of the larger lattice"
$K study surface --backend cuda --runs 20 | tee $OUT/surface_cells.csv
echo "== every field"
$K study surface-fields --backend cuda --runs 10 | tee $OUT/surface_fields.csv
echo "== sorted particles against all of them, on the cpu"
$K study surface-naive | tee $OUT/surface_naive.csv
echo "== frames of a run: bytes copied with and without a surface"
for from in none water; do $K run scenes/demo/dam_break.lua -o /tmp/s_$from --backend cuda --set output.surface.from=$from --set output.frames=4 --progress none; tail -1 /tmp/s_$from/perf.csv; done
