# Heads of hair at full size on the cores of the card's host: hair_short.lua (510 thousand nodes) and
# hair_long.lua (1.01 million) of Selle 2008, chapter 7, as many frames as fit, and a picture of the last
# of each. Needs the static float build of README.md and 8 GB of memory; no card. Ends within 9 minutes.
# Expected on 16 cores: some 20 s per frame of the short head, 40 s of the long one (a minute and 2.5 minutes
# of one core were seen, of which contact and sorting do not spread over all cores), no retries, no hair
# through the head, speeds below 5 m/s. The line of each head tells frames, seconds, speeds and stretch.
K=${K:-build/static/kelpie}; OUT=${OUT:-.}; T=${T:-16}
export OMP_NUM_THREADS=$T GOMP_SPINCOUNT=1000
head_of_hair() {  # scene, seconds
  run=/tmp/hair_full_$1
  timeout --signal=INT --kill-after=55 "$2" $K run scenes/papers/selle/$1.lua -o "$run" -f -j $T --progress none
  last=$(ls "$run"/frames | tail -1 | tr -dc 0-9 | sed 's/^0*//')
  timeout 40 $K render "$run" --frames "$last" --size 960x540 -j $T
  for picture in "$run"/images/*.png; do cp "$picture" "$OUT/$1_$last.png"; done
  cp "$run"/stats.csv "$OUT/$1_stats.csv"; cp "$run"/perf.csv "$OUT/$1_perf.csv"
}
head_of_hair hair_short 150
head_of_hair hair_long 200
python3 - "$OUT" <<'P'
import csv, sys
for scene in ("hair_short", "hair_long"):
    stats = list(csv.DictReader(open(f"{sys.argv[1]}/{scene}_stats.csv")))
    perf = list(csv.DictReader(open(f"{sys.argv[1]}/{scene}_perf.csv")))
    clock = [float(row["wall_s"]) for row in perf]
    speed = max(float(row["locks.max_speed"]) for row in stats)
    print(f"{scene}: {len(stats) - 1} frames, {stats[-1]['locks.count']} nodes, {sum(clock):.0f} s in all, "
          f"{sum(clock[-3:]) / max(1, len(clock[-3:])):.1f} s per frame at the end, fastest {speed:.2f} m/s, "
          f"retries {sum(int(row['retries']) for row in stats)}")
P
rm -rf /tmp/hair_full_hair_short /tmp/hair_full_hair_long
