-- expect: unknown word 'S'
-- exit: 3
local spacing = S or 0.05
liquid "water" { spacing = spacing, shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
