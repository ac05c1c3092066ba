-- Two dragons of liquid fall into a basin and drain through a pipe in its floor
-- (Bayraktar 2010, Fig. 7.6: 120 K particles of liquid, 50 K of walls).
--
-- The floor of the basin is a mesh with a hole and a pipe; its sides are the faces of the domain.
-- What drains is caught below.
local spacing = 0.0056
local size = 0.6

domain { min = {-0.35, -0.42, -0.38}, max = {0.35, 0.5, 0.38}, open_top = true }
sph { wall = "sph", domain_walls = "planes" }

liquid "dragons" {
  spacing = spacing,
  viscosity = 1.0,
  color = {0.05, 0.30, 0.55},
  shape = mesh { file = "meshes/dragon.obj", scale = size, translate = {-0.01, 0.14, 0.17} },
}
liquid "red_dragon" {
  spacing = spacing,
  viscosity = 1.0,
  color = {0.55, 0.06, 0.05},
  shape = mesh { file = "meshes/dragon.obj", scale = size, rotate_deg = {0, 180, 0}, translate = {0.01, 0.14, -0.19} },
}
collider "floor" {
  shape = mesh { file = "meshes/drain.obj" }, spacing = 1.07 * spacing, layers = 1, color = {0.5, 0.5, 0.52},
}

output { frames = 240, fps = 60, surface = { from = "all" } }

look "dragons" { color = {0.16, 0.42, 0.70}, smooth = 0.8, gloss = 0.5 }
look "surface of dragons" { water = false, color = {0.16, 0.42, 0.70}, gloss = 0.5 }
look "surface of red_dragon" { water = false, color = {0.72, 0.16, 0.12}, gloss = 0.5 }
look "red_dragon" { color = {0.72, 0.16, 0.12}, smooth = 0.8, gloss = 0.5 }
render { camera_position = {1.25, 0.62, 1.75}, camera_target = {0.0, -0.06, 0}, box = false, background = "sky" }
