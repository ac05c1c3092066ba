-- Dam break: a column of water is let go at one end of a tank and meets a pillar on its way.
local tank = { length = 1.6, height = 0.8, width = 0.6 }
local spacing = 1 / 60

domain {
  min = {0, 0, 0},
  max = {tank.length, tank.height, tank.width},
  open_top = true,
}
gravity { 0, -9.81, 0 }

liquid "water" {
  method = "sph",
  spacing = spacing,
  rest_density = 1000,
  viscosity = 0.05,
  shape = box { min = {0, 0, 0}, max = {0.4, 0.45, tank.width} },
}

collider "pillar" {
  shape = cylinder {
    a = {0.95, 0, tank.width / 2},
    b = {0.95, 0.5, tank.width / 2},
    radius = 0.06,
  },
  color = {0.55, 0.52, 0.48},
}

output { frames = 120, fps = 60 }
