-- expect: its shape has no end
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
body "floor" { shape = plane {} }
