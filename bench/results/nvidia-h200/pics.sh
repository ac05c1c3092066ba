# Pictures by rays on the card: flames, sparks, water with caustics, hair, a wireframe, knitwear, each against the picture of
# the processor by the same rays. Expects RMS differences of at most 0.01 of white (rays that graze an edge may go
# the other way where products are fused) and a card that is many times faster. Needs the static float build, a few minutes. ONLY="names" draws these alone;
# of knit_swatch, whose quads are sorted on the card, at most 4e-4 is expected.
K=${K:-build/static/kelpie}; OUT=${OUT:-.}; T=$(mktemp -d)
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
one() { # name, scene, frame, more options for the picture
  name=$1; scene=$2; frame=$3; shift 3
  case " ${ONLY:-$name} " in *" $name "*) ;; *) return ;; esac
  [ -d $T/$scene ] || $K run scenes/demo/$scene.lua -o $T/$scene --frames :$frame --progress none || return
  for b in cpu cuda; do
    begin=$(date +%s%N)
    $K render $T/$scene --frames $frame --size 960x540 --samples 16 --no-video --backend $b --set render.method=rays "$@" -o $T/$name.$b > $T/log 2>&1 || cat $T/log
    eval "ms_$b=$((($(date +%s%N) - begin) / 1000000))"
    cp $T/$name.$b/*.png $OUT/$name.$b.png
  done
  python3 - "$name" "$OUT/$name.cpu.png" "$OUT/$name.cuda.png" $ms_cpu $ms_cuda <<'PY'
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.SourceFileLoader("pictures", "tools/measure-pictures")
m = importlib.util.module_from_spec(importlib.util.spec_from_loader("pictures", loader))
loader.exec_module(m)
a, b = (m.read_png(p) for p in sys.argv[2:4])
print("%-12s RMS %.5f  cpu %s ms  cuda %s ms" % (sys.argv[1], m.difference(a, b), sys.argv[4], sys.argv[5]))
PY
}
one campfire campfire 24
one torch torch 12
one glass_ball glass_ball 10
one flip_dam flip_dam 20
one hair hair 2
one soft_hare soft_hare 4
one plume plume 20
one knit_swatch knit_swatch 12
rm -rf $T
