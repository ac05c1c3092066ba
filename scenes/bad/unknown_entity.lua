-- expect: unknown word 'liquids', did you mean 'liquid'?
-- exit: 3
liquids "water" { shape = box {} }
