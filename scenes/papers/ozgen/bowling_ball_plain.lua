-- A bowling ball on the same viscoelastic fluid without memory (Özgen 2013, section 5.4): it sinks
-- at once. Compare bowling_ball.lua.
local a = 0.025

domain { min = {0, 0, 0}, max = {64 * a, 0.9, 26 * a}, open_top = true }
liquid "starch" {
  method = "stf", spacing = a, rest_density = 1200, jitter = 0.1,
  shape = box { min = {0, 0, 0}, max = {64 * a, 12 * a, 26 * a} },
}
stf {
  sound_speed = 4, linear_viscosity = 40,
  spring_stiffness = 400, plasticity = 10, yield = 0.02,
  history = "none",
}
body "ball" {
  shape = sphere { center = {0.25, 12 * a + 0.15, 13 * a}, radius = 0.1 },
  density = 1500, velocity = {1.2, 0, 0}, color = {0.05, 0.07, 0.20},
}

output { frames = 60, fps = 30, surface = { from = "starch" } }
look "surface of starch" { water = false, color = {0.92, 0.90, 0.84}, gloss = 0.5 }
look "starch" { color = {0.92, 0.90, 0.84}, smooth = 1, gloss = 0.5 }
render { camera_position = {1.9, 1.15, 1.75}, camera_target = {0.76, 0.16, 0.32}, box = false }
