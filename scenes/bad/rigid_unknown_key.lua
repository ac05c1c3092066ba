-- expect: unknown key 'substep', did you mean 'substeps'?
-- exit: 3
rigid { substep = 4 }
body "ball" { shape = sphere { radius = 0.2, center = {0.5, 0.5, 0.5} } }
