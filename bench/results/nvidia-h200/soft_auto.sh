#!/usr/bin/env bash
# Which solver is taken by itself on the card, and from how many nodes on sweeps are the faster one: the soft body of
# Fig. 7.12b, sheets of 1,681 to 25,921 nodes and solids of 5,062 and more with both solvers; then every kernel against the
# CPU in float and, with the static double build, in double. Ends within 7 minutes.
# Expected: "body auto" 16 ms per frame or less; "sheet 40 auto" and "hare 0.02 auto" with launches as few as with the polynomial; the
# lines of larger sheets and solids tell whether MOST_NODES of src/methods/deform/deform_poly.c may rise. All kernels right.
K=${K:-build/static/kelpie}; KD=${KD:-build/static-double/kelpie}; OUT=${OUT:-.}; W=/tmp/soft_auto
# name, first frame that counts, last, solver, scene, settings
go() {
  local name=$1 first=$2 last=$3 solver=$4 scene=$5; shift 5
  timeout 25 $K run scenes/$scene.lua -o $W -f -j 4 --backend cuda --progress none --frames :$last \
    --set solids.solver=$solver "$@" > $OUT/soft_auto.log 2>&1 || echo "$name with $solver was stopped"
  python3 - "$name $solver" $first $W/perf.csv <<'P'
import csv, sys
rows = [r for r in csv.DictReader(open(sys.argv[3])) if int(r["frame"]) >= int(sys.argv[2])]
mean = lambda key: sum(float(r[key]) for r in rows) / max(len(rows), 1)
print(f"{sys.argv[1]:24s} {len(rows):3d} frames {1e3 * mean('simulate_s'):8.2f} ms per frame, {mean('launches'):7.0f} launches")
P
}
{
  go body 11 30 auto papers/bayraktar/soft_body
  for n in 40 80 160; do
    for solver in auto sweeps polynomial; do
      go "sheet $n" 6 11 $solver demo/cloth_on_ball --set sheet.columns=$n --set sheet.rows=$n
    done
  done
  for spacing in 0.02 0.014; do
    for solver in auto sweeps polynomial; do
      go "hare $spacing" 6 10 $solver demo/soft_hare --set hare.spacing=$spacing
    done
  done
  timeout 80 $K bench kernels --backend cuda > $OUT/kernels.txt 2>&1; echo "float: status $?"
  grep -A 1 -E "FAIL|NEVER|poly\.solve" $OUT/kernels.txt; tail -n 1 $OUT/kernels.txt
  if [ -x $KD ]; then
    timeout 80 $KD bench kernels --backend cuda > $OUT/kernels_double.txt 2>&1; echo "double: status $?"
    grep -A 1 -E "FAIL|NEVER|poly\.solve" $OUT/kernels_double.txt; tail -n 1 $OUT/kernels_double.txt
  fi
} 2>&1 | tee $OUT/soft_auto.txt
rm -rf $W
