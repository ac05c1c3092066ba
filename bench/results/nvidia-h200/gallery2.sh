#!/usr/bin/env bash
# Makes the pictures of the gallery that need a card or many cores again, from the commands of its page: about six
# minutes on 16 cores. Leaves $OUT/gallery2.tar.aa (pieces of 15 MB at most) and prints what each took; expects 38
# pictures and no failure. Packed by `tools/gallery --repack` after they are in docs/gallery.
K=$(realpath "${K:-build/static/kelpie}"); OUT=$(realpath "${OUT:-/tmp/gallery2-out}"); W=/tmp/gallery2
export OMP_NUM_THREADS=3 GOMP_SPINCOUNT=1000 PYTHONUNBUFFERED=1
rm -rf $W; mkdir -p $W/png $W/work $OUT
make_some() {
  local jobs=$1 seconds=$2; shift 2
  timeout $seconds python3 tools/gallery "$@" --program $K --into $W/png --work $W/work --jobs $jobs 2>&1
}
# the long ones first, the short ones beside them
make_some 4 500 selle_ball_into_pool selle_drop 'ozgen_fingers*' hair selle_hair_tuft sand_in_water knit_sphere > $OUT/long.log &
make_some 3 500 'selle_confinement_*' selle_explosion fireball campfire candle 'lyes_block_drop*' lyes_calm_pool lyes_drop \
  lyes_ripple lyes_splash lyes_collider duck wave_tank 'bayraktar_adhesion_*' rigid_pile dominoes_focus \
  'lyes_flame_*' wick hong_particle_level_set soft_beams > $OUT/short.log &
wait
(cd $W/png && tar cf - *.png | split -b 15000000 - $OUT/gallery2.tar.)
cat $OUT/long.log $OUT/short.log; ls $W/png | wc -l; ls -la $OUT
