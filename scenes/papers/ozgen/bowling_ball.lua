-- A bowling ball on corn starch (Özgen 2013, Fig. 5.7; timings are stated for 20 K particles).
--
-- Struck, the fluid carries the ball: it bounces, rolls and comes to rest on top. As the springs
-- forget, it sinks. Without memory it goes under at once: bowling_ball_plain.lua.
local a = 0.025

domain { min = {0, 0, 0}, max = {64 * a, 0.9, 26 * a}, open_top = true }
liquid "starch" {
  method = "stf", spacing = a, rest_density = 1200, jitter = 0.1,
  shape = box { min = {0, 0, 0}, max = {64 * a, 12 * a, 26 * a} },
}
stf {
  sound_speed = 4, linear_viscosity = 40,
  spring_stiffness = 400, plasticity = 10, yield = 0.02,
  history = "magnitudes", thickening = 150, reference_speed = 0.07,
}
body "ball" {
  shape = sphere { center = {0.25, 12 * a + 0.15, 13 * a}, radius = 0.1 },
  density = 1500, velocity = {1.2, 0, 0}, color = {0.05, 0.07, 0.20},
}

output { frames = 300, fps = 30, surface = { from = "starch" } }
look "starch" { color_by = "stiffening", color_map = "heat", range_max = 120, smooth = 1, gloss = 0.5 }
render { camera_position = {1.9, 1.15, 1.75}, camera_target = {0.76, 0.16, 0.32}, box = false }
