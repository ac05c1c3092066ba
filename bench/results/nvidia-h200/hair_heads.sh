# Heads of ten thousand hairs that shake, on the cores of the card's host: hair_short.lua (510 thousand nodes),
# then long straight hair (1.01 million) and long curly hair (510 thousand) on the head of hair_long.lua with its
# shake from the start instead of after half a second (Selle 2008, chapter 7; curly hair of hair_curly.lua). As
# many frames as fit, and a picture of the last of each. Needs the static float build of README.md, 8 GB of
# memory and 2 GB of /tmp; no card. Ends within 9 minutes.
# Expected: no retries; in the short head no node faster than 3 m/s (before the second solve of hair ended
# after 0.6 of a step, single tips went at 12 to 21 m/s from the third frame on). Tips of long hair whip: 16
# lone ones on this shake reach 2 to 4 m/s for a moment at a quarter of the step too, sixty of them 6.5 m/s.
# Strains stay below 0.01 but where collisions put nodes after the limit (0.1 was seen).
K=${K:-build/static/kelpie}; OUT=${OUT:-.}; T=${T:-16}; N=${N:-10000}
export OMP_NUM_THREADS=$T GOMP_SPINCOUNT=1000
S=scenes/papers/selle
shake='    local s = t > 0.2 and 1 or 5 * t\n    return {0.05 * s * math.sin(6 * math.pi * t), 0, 0}'
curls='segments = 50, straight_deg = 1, length = 0.45, curl_radius = 0.007, curl_pitch = 0.03'
sed -e "s/count = 10000/count = $N/" $S/hair_short.lua > $S/heads_short.lua
sed -e "s/count = 10000/count = $N/" -e '/local s = /d' -e "s/.*return {0.05.*/$shake/" $S/hair_long.lua > $S/heads_long.lua
sed -e "s/segments = 50, straight_deg = 180, length = 0.35/$curls/" -e 's/lift = 0.003/lift = 0.006/' $S/heads_long.lua > $S/heads_curly.lua
head_of_hair() {  # name, seconds
  run=/tmp/hair_$1
  timeout --signal=INT --kill-after=50 "$2" $K run $S/heads_$1.lua -o $run -f -j $T --progress none
  last=$(ls $run/frames | grep -v tmp | tail -1 | tr -dc 0-9 | sed 's/^0*//')
  timeout 40 $K render $run --frames "$last" --size 960x540 -j $T
  for picture in $run/images/*.png; do cp "$picture" "$OUT/hair_$1_$last.png"; done
  timeout 40 $K export $run --to csv --float -o $run/csv
}
head_of_hair short ${SHORT:-180}
head_of_hair long ${LONG:-90}
head_of_hair curly ${CURLY:-60}
rm $S/heads_short.lua $S/heads_long.lua $S/heads_curly.lua
timeout 60 python3 - "$OUT" <<'P' | tee "$OUT/hair_heads.txt"
import csv, glob, math, sys
def lengths(path, per):
    x = [tuple(map(float, row.split(",", 3)[:3])) for row in open(path).read().split("\n")[1:] if row]
    return [math.dist(x[i], x[i + 1]) for i in range(len(x) - 1) if (i + 1) % per]
for name, per in (("short", 26), ("long", 51), ("curly", 51)):
    run = f"/tmp/hair_{name}"
    stats = list(csv.DictReader(open(f"{run}/stats.csv")))
    perf = {row["frame"]: row for row in csv.DictReader(open(f"{run}/perf.csv"))}
    frames = sorted(glob.glob(f"{run}/csv/locks_curves_*.csv"))
    rest = lengths(frames[0], per)
    print(f"{name}: {stats[0]['locks.count']} nodes, retries {sum(int(row['retries']) for row in stats)}")
    for row, path in list(zip(stats, frames))[1:]:
        strain = max(a / b - 1.0 for a, b in zip(lengths(path, per), rest))
        print(f"  frame {row['frame']:>2} at {float(row['time']):.3f} s: {float(perf[row['frame']]['wall_s']):6.1f} s, "
              f"fastest {float(row['locks.max_speed']):6.2f} m/s, largest strain {strain:.3g}", flush=True)
P
rm -rf /tmp/hair_short /tmp/hair_long /tmp/hair_curly
