-- Two dragons of liquid fall into a basin and drain through a pipe in its floor
-- (Bayraktar 2010, Fig. 7.6: 120 K particles of liquid, 50 K of walls).
--
-- The mesh "drain" is the inside of basin and pipe; inverted, it is a room. The sink stands at the
-- far end of the pipe.
local spacing = 0.0056
local size = 0.6

domain {
  min = {-0.45, -0.35, -0.45}, max = {0.55, 0.5, 0.45},
  boundary_x = "open", boundary_y = "open", boundary_z = "open",
}
sph { wall = "sph" }

liquid "dragons" {
  spacing = spacing,
  viscosity = 0.4,
  color = {0.05, 0.30, 0.55},
  shape = mesh { file = "meshes/dragon.obj", scale = size, translate = {-0.01, 0.14, 0.17} },
}
liquid "red_dragon" {
  spacing = spacing,
  viscosity = 0.4,
  color = {0.55, 0.06, 0.05},
  shape = mesh { file = "meshes/dragon.obj", scale = size, rotate_deg = {0, 180, 0}, translate = {0.01, 0.14, -0.19} },
}
collider "basin" {
  shape = mesh { file = "meshes/drain.obj", invert = true },
  spacing = 1.26 * spacing,
  layers = 1,
  visible = false,
}
sink "outlet" { shape = box { min = {0.38, -0.32, -0.12}, max = {0.50, -0.12, 0.12} } }

output { frames = 180, fps = 60 }

look "dragons" { color = {0.16, 0.42, 0.70}, smooth = 0.8, gloss = 0.5 }
look "red_dragon" { color = {0.72, 0.16, 0.12}, smooth = 0.8, gloss = 0.5 }
render { camera_position = {1.1, 0.75, 1.5}, camera_target = {0.03, 0.03, 0}, box = false, ground_height = 0 }
