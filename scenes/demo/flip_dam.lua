-- Dam break with an obstacle, by FLIP: particles carry the water, a grid keeps it incompressible.
--
-- Finer water:  kelpie run scenes/demo/flip_dam.lua --set water.spacing=0.0125
local spacing = 0.025                        -- metres between particles; cells are twice as wide
local tank = { length = 1.6, height = 0.8, width = 0.6 }

domain {
  min = {0, 0, 0},
  max = {tank.length, tank.height, tank.width},
}
gravity { 0, -9.81, 0 }

liquid "water" {
  method = "flip",
  spacing = spacing,
  viscosity = 0,
  jitter = 0.25,                             -- rows of particles leave tubes of air when they part
  shape = box { min = {0, 0, 0}, max = {0.4, 0.5, tank.width} },
}

collider "pillar" {
  shape = cylinder { a = {0.9, 0, 0.3}, b = {0.9, 0.55, 0.3}, radius = 0.1 },
  color = {0.55, 0.42, 0.30},
}

output { frames = 60, fps = 30 }

render { camera_azimuth_deg = 32, camera_elevation_deg = 18, camera_zoom = 1.12, background = "sky", samples = 4 }
