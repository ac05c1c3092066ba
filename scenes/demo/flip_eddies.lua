-- A pool of FLIP water that vortex particles stir from below: eddies that the grid alone would lose (after Selle
-- 2008, Fig. 3.3). Compare with --set eddies.limit=0.
domain { min = {0, 0, 0}, max = {1.6, 0.6, 0.8} }
simulation { gravity = {0, -9.81, 0} }
liquid "pool" { method = "flip", spacing = 0.0125, viscosity = 0, jitter = 0.2,
  shape = box { min = {0, 0, 0}, max = {1.6, 0.3, 0.8} } }
vortices "eddies" { into = "pool", shape = box { min = {0.3, 0.05, 0.2}, max = {0.7, 0.25, 0.6} },
  rule = "upright", rate = 80, limit = 80, magnitude = 0.3, radius = 0.15, radius_spread = 0.3 }
look "eddies" { visible = false }
output { frames = 48, fps = 24, surface = { field = "zhu-bridson" } }  -- smoother than ellipsoids for particles of FLIP
