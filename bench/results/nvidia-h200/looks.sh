# Surfaces of level sets, smoothing of meshes, watched runs and many volumes on the card, in two minutes.
# Needs the static float build of README.md. Expects: kernels within 2e-5, "same" three times, a picture of
# every frame of the watched runs, and pictures of ten puffs by rays on the card.
K=${K:-build/static/kelpie}; OUT=${OUT:-.}; T=$(mktemp -d)
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
echo "== kernels against the cpu"
$K bench kernels --backend cuda --size 4000 > $OUT/kernels_looks.txt 2>&1
grep -E "^(mesh_smooth|grid_surface|live|surface|cast)\." $OUT/kernels_looks.txt; tail -1 $OUT/kernels_looks.txt
echo "== meshes of a level set before its first step, by smoothing: those of the cpu"
for s in none hong taubin; do
  for b in cpu cuda; do
    $K run scenes/demo/drop_into_pool.lua -f -o $T/$b --backend $b --frames 0:0 --set output.surface.mesh_smoothing=$s --set grid.cell=0.005 --progress none
    $K export $T/$b --to ply -o $T/$b.ply > /dev/null
  done
  cmp $T/cpu.ply/* $T/cuda.ply/* && echo "$s same"
  rm -rf $T/c*
done
echo "== watched runs"
for s in plume_sphere drop_into_pool pillar; do
  $K run scenes/demo/$s.lua -f -o $T/w --backend cuda --frames 0:6 --watch > $OUT/watch_$s.txt 2>&1
  tail -1 $OUT/watch_$s.txt; rm -rf $T/w
done
echo "== ten puffs by rays"
cat > $T/puffs.lua <<'LUA'
domain { min = {0, 0, 0}, max = {1, 1, 1}, open_top = true }
grid { cell = 1 / 24 }
for k = 1, 10 do
  smoke("gas" .. k) { empty = true }
  source("vent" .. k) { into = "gas" .. k, density = 1, temperature = 350,
    shape = sphere { center = {0.05 + 0.09 * k, 0.2 + 0.05 * k, 0.5}, radius = 0.08 } }
end
output { frames = 4, fps = 24 }
LUA
$K run $T/puffs.lua -f -o $T/p --backend cuda --progress none && for b in cpu cuda; do
  $K render $T/p --backend $b --frames 4:4 -o $OUT/puffs_$b 2>&1 | tail -1
done
rm -rf $T
