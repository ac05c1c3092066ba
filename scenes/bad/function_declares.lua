-- expect: entities can only be said by the scene itself
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
collider "lid" {
  shape = sphere { radius = 0.1 },
  position = function(t) gravity { 0, 0, 0 } return {0, 0, 0} end,
}
