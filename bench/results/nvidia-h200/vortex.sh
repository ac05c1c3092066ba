# Vortex-in-cell and pictures of particles on a card. Expected: every kernel of stream, vorton and
# live right; the error of `grid` below 0.12 at all sizes, as on a CPU; its time below that of the
# sum over all vortons (seconds_global) from 16 thousand on; and three frames shown, of which the
# card sends 80 x 44 pixels of 4 bytes each beyond what frames take.
K=build/static/kelpie
echo "== kernels"
$K bench kernels --backend cuda --size 20000 > ${OUT:-.}/kernels_vortex.txt 2>&1
grep -E "^(stream|vorton|live)\." ${OUT:-.}/kernels_vortex.txt; tail -1 ${OUT:-.}/kernels_vortex.txt
echo "== gathers, cuda"
for n in 4096 16384 65536 262144; do
  echo "$n vortons"; timeout 100 $K study vortex-reach --backend cuda --max $n --steps 40 | tail -2
done
echo "== a run that is watched"
$K run scenes/demo/dam_break.lua -o /tmp/watched --backend cuda --watch --progress none \
  --set output.frames=2 | tail -22
