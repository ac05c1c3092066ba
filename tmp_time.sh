lscpu | grep "Model name"; export OMP_NUM_THREADS=1 GOMP_SPINCOUNT=1000
go() { rm -rf /tmp/r; taskset -c 3 build/static/kelpie run $1 -o /tmp/r --threads 1 "${@:2}" > /tmp/log 2>&1 || tail -3 /tmp/log; python3 - "$*" <<'P' || awk -F, 'NR==1{for(i=1;i<=NF;i++)h[$i]=i} NR>3{s+=$h["simulate_s"];f+=$h["forces_s"]} END{print s,f}' /tmp/r/perf.csv
import csv,sys
rows=list(csv.DictReader(open('/tmp/r/perf.csv')))[2:]
st=list(csv.DictReader(open('/tmp/r/stats.csv')))[-len(rows):]
n=sum(float(r['substeps']) for r in st)
tot=sum(float(r['simulate_s']) for r in rows)
print(sys.argv[1][-60:], 'ms/step %.3f'%(1e3*tot/n), ' '.join('%s %.3f'%(k,1e3*sum(float(r[k]) for r in rows)/n) for k in ('space_s','prepare_s','forces_s','predict_s')))
P
}
for t in 1 2 3 4; do
for m in "sph.viscosity_model=laplacian" "sph.viscosity_model=fractional"; do go tmp_time.lua --set $m; done; done
go tmp_time.lua --set sph.viscosity_model=fractional --set sph.fractional_hybrid=true
go tmp_time.lua --set sph.viscosity_model=fractional --set sph.fractional_steps=100
go tmp_time.lua --set sph.viscosity_model=laplacian --set sph.density=continuity
go tmp_time.lua --set sph.viscosity_model=fractional --set sph.density=continuity
for m in laplacian fractional; do go tmp_time.lua --set sph.viscosity_model=$m --set water.spacing=0.0316; done
for m in laplacian fractional; do go tmp_time.lua --set sph.viscosity_model=$m --set water.spacing=0.0316 --set simulation.dt=auto; tail -2 /tmp/log; done
for m in laplacian fractional; do go tmp_time.lua --set sph.viscosity_model=$m --set simulation.dt=auto ; tail -2 /tmp/log; done
