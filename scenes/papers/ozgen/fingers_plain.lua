-- The shaken dish without memory (Özgen 2013, section 5.4). Compare fingers.lua.
local a = 0.01

domain { min = {0, 0, 0}, max = {50 * a, 0.6, 50 * a}, open_top = true }
liquid "starch" {
  method = "stf", spacing = a, rest_density = 1200, jitter = 0.1,
  shape = box { min = {0, 0, 0}, max = {50 * a, 4 * a, 50 * a} },
}
stf {
  sound_speed = 2.8, linear_viscosity = 30,
  spring_stiffness = 800, plasticity = 14, yield = 0.02,
  history = "none",
  vibration_amplitude = 2.5 * a, vibration_sources = 8,
  vibration_lowest = 11, vibration_highest = 20, vibration_stop = 1.2,
}

output { frames = 48, fps = 30, surface = { from = "starch" } }
look "surface of starch" { water = false, color = {0.92, 0.90, 0.84}, gloss = 0.5 }
look "starch" { color = {0.92, 0.90, 0.84}, smooth = 1, gloss = 0.5 }
render { camera_position = {0.72, 0.5, 1.0}, camera_target = {0.25, 0.03, 0.24}, box = false }
