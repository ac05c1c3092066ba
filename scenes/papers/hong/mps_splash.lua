-- A block of water falls into a pool, by the moving-particle semi-implicit method (Hong 2009, Fig. 6;
-- its size is not stated). Particles the method takes for surface are blue, all others green.
local s = 0.0125

domain { dimension = 2, min = {0, 0}, max = {1.6, 1}, open_top = true }
simulation { gravity = {0, -9.81, 0} }
mps { surface = 0.97 }

liquid "pool" { method = "mps", spacing = s, viscosity = 0.001, shape = box { min = {0, 0}, max = {1.6, 0.25} } }
liquid "block" {
  method = "mps", spacing = s, viscosity = 0.001, velocity = {0, -2, 0},
  shape = box { min = {0.65, 0.3}, max = {0.95, 0.6} },
}

output { frames = 60, fps = 60, surface = false }
-- green inside (0), blue at the surface (1): the map is walked backwards
local look_of = { color_by = "surface", color_map = "viridis", range_min = 1.625, range_max = -0.875, smooth = 0, gloss = 0 }
look "pool" (look_of)
look "block" (look_of)
render { camera_azimuth_deg = 0, camera_elevation_deg = 0, box = false, ground = "none", occlusion = 0 }
