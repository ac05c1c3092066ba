-- A dish of corn starch on a loudspeaker (Özgen 2013, Figs. 5.3 and 5.4: 10 K particles).
--
-- Sources under the floor shake with frequencies drawn anew at random. With memory the layer stiffens
-- to a sheet that keeps its folds and rims, short of the fingers of the figure; without memory
-- (fingers_plain.lua) it splashes and runs flat again. fingers_sum.lua: the magnitude of the sum.
local a = 0.01

domain { min = {0, 0, 0}, max = {50 * a, 0.6, 50 * a}, open_top = true }
liquid "starch" {
  method = "stf", spacing = a, rest_density = 1200, jitter = 0.1,
  shape = box { min = {0, 0, 0}, max = {50 * a, 4 * a, 50 * a} },
}
stf {
  sound_speed = 2.8, linear_viscosity = 30,
  spring_stiffness = 800, plasticity = 14, yield = 0.02,
  history = "magnitudes", thickening = 300, reference_speed = 0.2,
  vibration_amplitude = 2.5 * a, vibration_sources = 8,
  vibration_lowest = 11, vibration_highest = 20, vibration_stop = 1.2,
}

output { frames = 48, fps = 30, surface = { from = "starch" } }
look "starch" { color_by = "stiffening", color_map = "heat", range_max = 600, smooth = 1, gloss = 0.5 }
render { camera_position = {0.72, 0.5, 1.0}, camera_target = {0.25, 0.03, 0.24}, box = false }
