-- Wave tank, by FLIP: a paddle goes to and fro at one end; waves run down the tank and break on a ramp.
--
-- Finer water:  kelpie run scenes/demo/wave_tank.lua --set water.spacing=0.0125
local spacing = 0.025
local tank = { length = 3.2, height = 0.8, width = 0.4 }
local depth = 0.3

domain { min = {0, 0, 0}, max = {tank.length, tank.height, tank.width} }
gravity { 0, -9.81, 0 }

liquid "water" {
  method = "flip",
  spacing = spacing,
  viscosity = 0,
  shape = box { min = {0.3, 0, 0}, max = {tank.length, depth, tank.width} },
}

-- The paddle swings by 10 cm, once in 1.2 s; it starts gently.
collider "paddle" {
  shape = box { min = {-0.3, 0, -0.1}, max = {0, tank.height + 0.1, tank.width + 0.1} },
  position = function(t)
    local swing = 0.1 * math.min(1, t) * math.sin(2 * math.pi * t / 1.2)
    return {0.3 + swing, 0, 0}
  end,
  color = {0.55, 0.42, 0.30},
}

collider "ramp" {
  shape = box { min = {0, -0.2, -0.1}, max = {1.6, 0, tank.width + 0.1} },
  position = {2.0, -0.02, 0},
  rotation_deg = {0, 0, 16},
  color = {0.62, 0.58, 0.50},
}

output { frames = 90, fps = 30 }

render {
  camera_position = {3.1, 1.0, 2.75}, camera_target = {1.45, 0.22, 0.2}, box = false, background = "sky", samples = 4,
}
