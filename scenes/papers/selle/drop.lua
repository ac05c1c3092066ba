-- Selle 2008, Figs 2.12-2.14: a drop falls into a pool, 200 x 300 x 200 cells, CFL 1.75.
-- The printed radius .5 would touch the walls and the pool; .2 is that of the group's later test.
-- Variants: --set grid.advection=semi_lagrangian; --set grid.limiter=clamp, none; and
-- --set grid.limiter=clamp --set level_set.near_surface=first_order.
domain { min = {0, 0, 0}, max = {1, 1.5, 1} }
simulation { gravity = {0, -9.8, 0} }
grid { cell = 1/200, cfl = 1.75, advection = "maccormack", limiter = "revert" }
liquid "pool" { method = "level_set", viscosity = 0,
  shape = box { min = {-1, -1, -1}, max = {2, 0.412134, 2} } }
liquid "drop" { method = "level_set", viscosity = 0,
  shape = sphere { center = {0.5, 0.75, 0.5}, radius = 0.2 } }
output { frames = 24, fps = 24 }
render { background = "sky", box = false, camera_position = {1.6, 1.25, 2.1}, camera_target = {0.5, 0.42, 0.5} }
