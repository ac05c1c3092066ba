-- expect: unknown word 'heigth'
-- exit: 3
local height = 2
domain { max = {1, heigth, 1} }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
