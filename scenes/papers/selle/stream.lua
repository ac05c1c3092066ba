-- Selle 2008, Fig. 3.5: a turbulent stream over terrain, 272 x 112 x 272 cells on a uniform grid (the
-- dissertation's was an octree of that finest resolution).
domain { min = {0, 0, 0}, max = {2.72, 1.12, 2.72}, boundary_x = "open" }
simulation { gravity = {-0.6, -9.8, 0} }
grid { cell = 0.01, cfl = 1.75, stream = {-1, 0, 0} }
liquid "stream" { method = "level_set", viscosity = 0, velocity = {-1, 0, 0},
  shape = box { min = {-1, -1, -1}, max = {4, 0.45, 4} } }
for n = 1, 9 do
  local x, z = 0.25 + 0.28 * (n - 1), 0.4 + 1.9 * ((n * 0.618) % 1)
  collider("stone" .. n) { shape = sphere { center = {x, 0.12, z}, radius = 0.2 + 0.03 * (n % 3) } }
end
-- about 800 vortex particles of 4 cells, born at the inflow
vortices "eddies" { into = "stream", shape = box { min = {2.5, 0.05, 0.1}, max = {2.7, 0.42, 2.6} },
  rule = "upright", rate = 160, limit = 800, magnitude = 2e-3, radius = 0.04 }
look "eddies" { visible = false }
for n = 1, 9 do look("stone" .. n) { color = {0.50, 0.45, 0.38}, gloss = 0.1 } end
output { frames = 120, fps = 24 }
render { background = "sky", box = false, camera_position = {4.6, 2.0, 5.0}, camera_target = {1.36, 0.25, 1.3} }
