-- Selle 2008, Figs 2.15-2.17: a ball is thrown into a pool, 450 x 300 x 300 cells, CFL 1.75. It goes in a
-- straight line during .075 s and then rests. The printed radius .2 ends half in the floor; .1 rests on it.
local R = 0.1
local a, b, T = {1.25, 0.55, 0.5}, {0.8, 0.1, 0.5}, 0.075
domain { min = {0, 0, 0}, max = {1.5, 1, 1} }
simulation { gravity = {0, -9.8, 0} }
grid { cell = 1/300, cfl = 1.75, advection = "maccormack", limiter = "revert" }
liquid "pool" { method = "level_set", viscosity = 0,
  shape = box { min = {-1, -1, -1}, max = {3, 0.400235, 2} } }
collider "ball" {
  shape = sphere { center = {0, 0, 0}, radius = R },
  position = function(t)
    local s = math.min(t / T, 1)
    return {a[1] + s * (b[1] - a[1]), a[2] + s * (b[2] - a[2]), a[3] + s * (b[3] - a[3])}
  end,
}
output { frames = 40, fps = 24 }
render { background = "sky", box = false, camera_position = {2.3, 1.0, 2.15}, camera_target = {0.76, 0.44, 0.5} }
