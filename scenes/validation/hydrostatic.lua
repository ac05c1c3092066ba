-- A still column: after it has stopped ringing, the pressure at depth d is rho g d. The viscosity is high so that
-- the sound waves of the sudden start die within a few seconds.
domain { dimension = 2, min = {0, 0, 0}, max = {0.2, 0.6, 1} }
gravity { 0, -9.81, 0 }
sph { wall = "sph" }

liquid "water" {
  spacing = 0.02,
  viscosity = 10,
  shape = box { min = {0, 0, -1}, max = {0.2, 0.4, 1} },
}

probe "depth" {
  of = "water", kind = "fit", radius = 0.05, interval = 0.02,
  min = {0.1, 0.01, 0}, max = {0.1, 0.35, 0}, counts = {1, 18, 1},
}

output { frames = 60, fps = 30, surface = false }
