-- expect: unknown gather 'globl', did you mean 'global'
-- exit: 3
vortex_fire { gather = "globl" }
fire "flame" { method = "vortex", particles = 100 }
