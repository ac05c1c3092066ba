-- expect: gave two answers for the same t
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
local n = 0
collider "lid" {
  shape = sphere { radius = 0.1 },
  position = function(t) n = n + 1 return {n, 0, 0} end,
}
