-- expect: position is NaN
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
collider "lid" { shape = sphere { radius = 0.1 }, position = function(t) return {0, math.sqrt(1 - t), 0} end }
