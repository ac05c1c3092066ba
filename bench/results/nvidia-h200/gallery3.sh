#!/usr/bin/env bash
# Frames and trial pictures for the gallery of what needs many cores or a card: cloth and hair on the cores, smoke, rivers
# and grains beside them. Ends within nine minutes. Leaves pieces of one archive ($OUT/gallery3.tar.aa and so on, 15 MB at
# most) of runs with a few frames each, to be drawn again with other cameras, and of pictures; prints how far each run
# came and how long it took. Expects the cover of 180 thousand triangles to reach 3 s, the inclines 1 s, the head of
# 6000 hairs half a second.
K=$(realpath "${K:-build/static/kelpie}"); OUT=$(realpath "${OUT:-/tmp/gallery3-out}"); W=/tmp/gallery3
export GOMP_SPINCOUNT=1000
rm -rf $W; mkdir -p $W/out $OUT; exec 2>&1
S=scenes/papers/selle
sed 's/^local size = 1$/local size = 0.3/' $S/wardrobe.lua > $W/wardrobe_180k.lua
sed 's/^local size = 1$/local size = 0.2/' $S/wardrobe.lua > $W/wardrobe_80k.lua

# name, scene, threads, seconds, options: a run that is stopped when its time is over
go() {
  local name=$1 scene=$2 threads=$3 seconds=$4 begin=$SECONDS; shift 4
  timeout -s INT -k 20 $seconds $K run $scene -o $W/$name -j $threads --progress none "$@" > $W/$name.log 2>&1
  echo "$name: frame $(ls $W/$name/frames | tail -1) after $((SECONDS - begin)) s; $(tail -1 $W/$name.log)" >> $OUT/told.txt
}
# name, frames: what is to come back
keep() {
  local name=$1; shift
  mkdir -p $W/kept/$name/frames
  cp -r $W/$name/run.json $W/$name/scene.lua $W/$name/used.lua $W/$name/inputs $W/kept/$name/ 2>> $W/kept.log
  for f in "$@"; do cp $W/$name/frames/frame_$(printf %06d $f).kpf $W/kept/$name/frames/ 2>> $W/kept.log; done
  tar -C $W/kept -czf $W/out/$name.tar.gz $name
}
# name, frame, tag, options: a picture
draw() {
  local name=$1 frame=$2 tag=$3; shift 3
  timeout 120 $K render $W/$name --frames $frame --samples 16 -j 4 --no-video -o $W/$name.$tag.$frame "$@" > $W/draw.log 2>&1 || tail -1 $W/draw.log
  cp $W/$name.$tag.$frame/*.png $W/out/${name}_${tag}_$frame.png
}

(go wardrobe_180k $W/wardrobe_180k.lua 6 440 --frames 200:460; keep wardrobe_180k 300 390 420 450) &
(go wardrobe_80k $W/wardrobe_80k.lua 2 440 --frames 200:460; keep wardrobe_80k 220 300 400 440) &
(go incline_after $S/incline_after.lua 3 420 --frames 24:60; keep incline_after 24 30 36 42 50) &
(go incline_before $S/incline_before.lua 2 420 --frames 24:60; keep incline_before 24 30 36 42 50) &
(go cloth_on_ball scenes/demo/cloth_on_ball.lua 3 420 --frames 40:72 --set sheet.columns=160 --set sheet.rows=160; keep cloth_on_ball 48 60 72) &
(go cloth_on_ball_soft scenes/demo/cloth_on_ball.lua 2 420 --frames 40:72 --set sheet.columns=140 --set sheet.rows=140 --set sheet.hinge=1.5e-4; keep cloth_on_ball_soft 48 60 72) &
(go flag scenes/demo/flag.lua 1 220 --frames 40:72 --set flag.columns=108 --set flag.rows=72; keep flag 48 56 64 72
 go flag_soft scenes/demo/flag.lua 1 200 --frames 40:72 --set flag.columns=108 --set flag.rows=72 --set flag.hinge=3e-5; keep flag_soft 48 56 64 72) &
(go hair_face $S/hair_face.lua 3 430 --frames :14 --set locks.count=6000; keep hair_face 4 8 12 14) &
(go sand_silo scenes/demo/sand_silo.lua 1 430 --frames 15:75 --set sand.spacing=0.008; keep sand_silo 20 28 36 44 60) &
(go sand_in_water scenes/demo/sand_in_water.lua 1 430 --frames 20:50 --set water.spacing=0.01 --set sand.spacing=0.007 --set beads.spacing=0.012 --set sand.jitter=0.3 --set beads.jitter=0.4; keep sand_in_water 20 30 40 50) &
(
for c in 0 2 8 50; do
  go confinement_$c $S/confinement_$c.lua 2 60 --frames 40:56 --set grid.cell=0.0104166666666667 --backend cuda
  for f in 40 52; do
    draw confinement_$c $f near --set 'render.sun={-1, 0.45, 0.3}' --set render.sky_strength=0.6 --set 'render.camera_position={0.5, 0.7, 2.6}' --set 'render.camera_target={0.5, 0.62, 0.5}'
  done
done
go explosion $S/explosion.lua 2 90 --frames 10:36 --backend cuda
for f in 12 20 32; do
  draw explosion $f plain --set 'render.camera_position={1.7, 0.75, 2.6}' --set 'render.camera_target={0.5, 0.58, 0.5}'
  draw explosion $f bright --set look.cloud.emission=12 --set render.exposure=0.6 --set 'render.camera_position={1.7, 0.75, 2.6}' --set 'render.camera_target={0.5, 0.58, 0.5}'
done
) >> $OUT/told.txt &
(
go film $S/film.lua 2 60 --frames 40:64 --backend cuda
for f in 48 60; do
  draw film $f near --set render.camera_zoom=1 --set 'render.camera_position={0.5, 0.5, 1.9}' --set 'render.camera_target={0.5, 0.45, 0.5}' --set 'render.sun={-1, 0.6, 0.4}'
done
go plume_slices scenes/demo/plume_sphere.lua 2 60 --frames 60:90 --set grid.cell=0.01875 --backend cuda
for f in 60 80; do
  draw plume_slices $f near --set look.plume.method=slices --set look.plume.anisotropy=0.4 --set 'render.sun={0.5, 0.5, -0.6}' --set render.box=false --set render.camera_zoom=1.5
done
go candle scenes/demo/candle.lua 2 60 --frames 24:40 --set grid.cell=0.00125 --backend cuda
for f in 24 36; do
  draw candle $f near --set 'render.camera_position={0.035, 0.075, 0.17}' --set 'render.camera_target={0, 0.056, 0}'
done
go river scenes/papers/bayraktar/river.lua 2 90 --frames 230:230 --backend cuda
draw river 230 near --set 'render.camera_position={2.7, 0.75, 0.9}' --set 'render.camera_target={1.4, 0.2, 0.05}' --set render.camera_fov_deg=38
draw river 230 low --set 'render.camera_position={2.35, 0.5, 0.42}' --set 'render.camera_target={1.4, 0.22, 0.05}' --set render.camera_fov_deg=42 --set render.aperture=0.015
go dragons scenes/papers/bayraktar/dragons.lua 2 60 --frames 6:60 --backend cuda
for f in 6 14 24 60; do
  draw dragons $f near --set 'render.camera_position={0.95, 0.5, 1.3}' --set 'render.camera_target={0, 0, 0}'
done
go duck scenes/demo/duck.lua 2 60 --frames 8:26 --set duck.spacing=0.005 --set pool.spacing=0.005 --backend cuda --set output.surface.mesh_smoothing=taubin --set output.surface.mesh_passes=20
for f in 10 16 24; do
  draw duck $f taubin --set 'render.camera_position={-0.12, 0.44, 1.1}' --set 'render.camera_target={0.27, 0.17, 0.27}'
done
) >> $OUT/told.txt &
wait
tar -C $W/out -cf - . | split -b 15000000 - $OUT/gallery3.tar.
cat $OUT/told.txt; ls -la $W/out $OUT
rm -rf $W
