-- expect: unknown word 'spere', did you mean 'sphere'?
-- exit: 3
liquid "water" { shape = spere { radius = 0.1 } }
