-- expect: output.surface: unknown field 'metabals', did you mean 'metaballs'?
-- exit: 3
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, 0}, max = {1, 0.5, 1} } }
output { frames = 1, surface = { from = "water", field = "metabals" } }
