-- expect: position must be a vector {x, y, z}, not a number
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
collider "lid" { shape = sphere { radius = 0.1 }, position = function(t) return t end }
