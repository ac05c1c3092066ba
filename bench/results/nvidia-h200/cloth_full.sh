# Cloth on the host's cores (no card): scenes of Selle 2008, table 6.2, with `solids { ahead = 0.6 }` as it is now, and
# whether any two triangles cut each other in any frame. Ends within nine minutes; what is not reached is not counted.
#
# Expected: 0 in the column of crossings throughout. C25: 20 thousand triangles as far as 70 s go (480 and 600 frames are
# the whole runs), 100 thousand triangles for 24 frames. C30: two million triangles in two sheets, of which one falls on
# the other at 2 m/s from 15 mm above, so that there are collisions from the second frame on; at least three frames.
K=${K:-build/static/kelpie}; OUT=${OUT:-.}; T=${T:-16}; D=$(mktemp -d)
export OMP_NUM_THREADS=$T
table=$OUT/cloth_full.txt
printf "%-28s %9s %7s %10s %9s\n" scene triangles frames crossings s/frame > $table

# name, scene file, size, frames, seconds, meshes
go() {
  sed "s/^local size = 1$/local size = $3/" $2 > $D/$1.lua
  begin=$(date +%s.%N)
  timeout -k 60 -s INT $5 $K run $D/$1.lua -o $D/$1 --backend cpu -j $T --frames :$4 --progress none > $OUT/$1.log 2>&1
  end=$(date +%s.%N)
  timeout 60 $K info $D/$1 --crossings $6 > $OUT/$1.crossings
  awk -v name=$1 -v t0=$begin -v t1=$end '{ n = NR - 1; triangles = $3; crossings += $5 }
    END { printf "%-28s %9d %7d %10d %9.2f\n", name, triangles, n, crossings, (n > 0 ? (t1 - t0) / n : 0) }' $OUT/$1.crossings >> $table
  tail -2 $D/$1/perf.csv >> $OUT/$1.log
  rm -rf $D/$1
}

S=scenes/papers/selle
cat > $D/two_sheets.lua <<'LUA'
local size = 1
local cells = math.floor(707 * size + 0.5)
local edge = 2 / cells
domain { min = {-2, -2, -2}, max = {2, 2, 2} }
gravity { 0, -9.8, 0 }
solids { inner = 16, turns = true, gap = 0.002 }
for k = 0, 1 do
  cloth(k == 0 and "under" or "over") {
    width = 2, height = 2, columns = cells, rows = cells, position = {0, 0.015 * k, 0},
    rotation_deg = {0, 20 * k, 0}, velocity = {0, -2 * k, 0},
    density = 1, stiffness = 4.14 / edge, damping = 15, bend_stiffness = 0.41 / edge, bend_damping = 8,
    thickness = 0.01, friction = 0.4,
  }
end
collider "ball" { shape = sphere { center = {0, -0.51, 0}, radius = 0.5 }, friction = 0.5 }
output { frames = 60, fps = 120 }
LUA
go two_sheets_2m $D/two_sheets.lua 1 60 170 under,over
go spinning_ball_20k $S/spinning_ball.lua 0.1053 480 70 sheet
go wardrobe_20k $S/wardrobe.lua 0.1 600 70 cover
go spinning_ball_100k $S/spinning_ball.lua 0.236 24 40 sheet
go wardrobe_100k $S/wardrobe.lua 0.224 24 40 cover
cat $table
rm -rf $D
