-- Two liquids side by side, one twice as heavy as the other: the heavy one slides under the light one, and at the
-- end the interface is flat at half the height.
domain { dimension = 2, min = {0, 0, 0}, max = {0.4, 0.5, 1} }
gravity { 0, -9.81, 0 }
sph { wall = "sph", slip = 1 }

liquid "brine" {
  spacing = 0.02,
  rest_density = 1000,
  viscosity = 4,
  shape = box { min = {0, 0, -1}, max = {0.2, 0.4, 1} },
  color = {0.10, 0.35, 0.70},
}

liquid "oil" {
  spacing = 0.02,
  rest_density = 500,
  viscosity = 4,
  shape = box { min = {0.2, 0, -1}, max = {0.4, 0.4, 1} },
  color = {0.80, 0.60, 0.10},
}

output { frames = 120, fps = 20, surface = false }
