-- Selle 2008, Fig. 3.3: a pool with an inflow from the left, 320 x 128 x 320 cells on a uniform grid (the
-- dissertation's was an octree of that finest resolution).
domain { min = {0, 0, 0}, max = {3.2, 1.28, 3.2}, boundary_x = "open" }
simulation { gravity = {0, -9.8, 0} }
grid { cell = 0.01, cfl = 1.75, stream = {0.5, 0, 0} }
liquid "pool" { method = "level_set", viscosity = 0, velocity = {0.5, 0, 0},
  shape = box { min = {-1, -1, -1}, max = {5, 0.64, 5} } }
collider "weir" { shape = box { min = {3.1, -0.1, -0.1}, max = {3.3, 0.62, 3.3} } }
-- about 600 vortex particles of 40 cells, up or down, are born at the inflow; |w| = 1e-2 is calm, 5e-2 rough:
--   kelpie run ... --set eddies.magnitude=0.01
vortices "eddies" { into = "pool", shape = box { min = {0.02, 0.05, 0.2}, max = {0.2, 0.6, 3} },
  rule = "upright", rate = 120, limit = 600, magnitude = 5e-2, radius = 0.4 }
look "eddies" { visible = false }
output { frames = 120, fps = 24 }
