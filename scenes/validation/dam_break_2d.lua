-- Collapse of a water column of width a and height 2a (Martin & Moyce 1952, n^2 = 2, a = 2.25 inch).
-- Plot the largest x of stats.csv over a against t sqrt(2 g / a): the measured front is at
-- Z = 2.29, 4.13, 5.88, 7.95 for T = 2.00, 3.35, 4.42, 5.69.
local a = 2.25 * 0.0254
local spacing = a / 24

domain { dimension = 2, min = {0, 0, 0}, max = {12 * a, 3 * a, 1} }
gravity { 0, -9.81, 0 }
sph { wall = "sph" }

liquid "water" {
  spacing = spacing,
  viscosity = 0.05,
  shape = box { min = {0, 0, -1}, max = {a, 2 * a, 1} },
}

output { frames = 60, fps = 180, surface = false }
