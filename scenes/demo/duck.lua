-- Duck: a duck made of water falls on a ring and splashes into a basin.
--
-- Finer duck:  kelpie run scenes/demo/duck.lua --set duck.spacing=0.006 --set pool.spacing=0.006
local spacing = 0.0075
local width = 0.54

domain { min = {0, 0, 0}, max = {width, 0.6, width}, open_top = true }

sph { density = "continuity", viscosity_model = "artificial", slip = 1 }

-- Any closed mesh can be filled (OBJ or PLY, path relative to this file).
liquid "duck" {
  spacing = spacing,
  artificial_viscosity = 0.1,
  sound_speed = 20,
  shape = mesh { file = "meshes/duck.obj", scale = 1.3, translate = {0.26, 0.30, 0.27} },
}
liquid "pool" {
  spacing = spacing,
  artificial_viscosity = 0.1,
  sound_speed = 20,
  shape = box { min = {0, 0, 0}, max = {width, 0.03, width} },
}

-- And any closed mesh can be a solid.
collider "ring" {
  shape = mesh { file = "meshes/torus.obj", scale = 1.0, translate = {0.27, 0.15, 0.27} },
  color = {0.60, 0.12, 0.10},
}

output { frames = 60, fps = 60, surface = { from = "all" } }

look "duck" { color = {0.98, 0.80, 0.20}, smooth = 0.8, gloss = 0.5 }
look "surface of duck" { water = false, color = {0.98, 0.80, 0.20}, gloss = 0.6 }
look "pool" { color = {0.20, 0.50, 0.75}, smooth = 0.9, gloss = 0.5 }
render { camera_position = {-0.28, 0.52, 1.32}, camera_target = {0.27, 0.13, 0.27}, box = false, background = "sky" }
