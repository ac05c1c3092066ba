#!/usr/bin/env bash
# Makes the pictures of the gallery that show liquids of particles again, now that what is loose is spray, from the
# commands of its page: within nine minutes on 16 cores and a card. Leaves $OUT/spray.tar.aa (pieces of 15 MB at most) and
# prints what each took; expects 32 pictures and no failure. To be packed by `tools/gallery --repack` in docs/gallery.
K=$(realpath "${K:-build/static/kelpie}"); OUT=$(realpath "${OUT:-/tmp/spray-out}"); W=/tmp/spray-pictures
export OMP_NUM_THREADS=4 GOMP_SPINCOUNT=1000 PYTHONUNBUFFERED=1
rm -rf $W; mkdir -p $W/png $W/work $OUT
make_some() {
  local jobs=$1 seconds=$2; shift 2
  timeout $seconds python3 tools/gallery "$@" --program $K --into $W/png --work $W/work --jobs $jobs 2>&1
}
# those of the card one after the other, the others beside them
make_some 1 500 bayraktar_fountain bayraktar_breaking_dam bayraktar_river bayraktar_rigid_objects lyes_splash lyes_drop \
  lyes_ripple lyes_collider lyes_side_wave lyes_side_wave_springs lyes_block_drop_sph lyes_calm_pool lyes_ceiling_hole \
  lyes_other_fluids 'ozgen_dam_re*' > $OUT/card.log &
make_some 3 500 splash dam_break everything fountain splash_shutter 'flip_*' glass_ball wave_tank floating_boxes \
  'bayraktar_adhesion_*' duck > $OUT/cores.log &
wait
(cd $W/png && tar cf - *.png | split -b 15000000 - $OUT/spray.tar.)
cat $OUT/card.log $OUT/cores.log; ls $W/png | wc -l; ls -la $OUT
