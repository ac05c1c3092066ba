-- Turbulent tongues over a brazier (Lyes 2015, Fig. 7.15 beside a photograph): a wide flame of vortices over glowing balls, in gusts.
domain { min = {-1.5, -0.4, -1.5}, max = {1.5, 3, 1.5} }
collider "ember_left" { shape = sphere { center = {-0.25, 0, 0.05}, radius = 0.16 }, color = {0.25, 0.05, 0.02} }
collider "ember_right" { shape = sphere { center = {0.24, 0.02, -0.06}, radius = 0.17 }, color = {0.25, 0.05, 0.02} }
collider "ember_front" { shape = sphere { center = {0.02, -0.02, 0.22}, radius = 0.14 }, color = {0.25, 0.05, 0.02} }
fire "flame" {
  method = "vortex", particles = 32768, emitter = "disc", radius = 0.42, position = {0, 0, 0}, sprite_radius = 0.018,
  velocity = {0, 1.4, 0}, velocity_spread = {0.3, 0.5, 0.3}, life_spread = 0.4, decay_center = 0.6, decay_rim = 1.4,
  color = {1, 0.4, 0.04}, color_spread = {0, 0.12, 0.04},
  wind = function(t) return 12 * math.sin(1.3 * t) end,
}
vortex_fire { cell = 0.05, limit = 120, shedding = 40, rise_rate = 6, lightness = 0.02, reach = 2.6, bright = 20 }

output { frames = 120, fps = 60 }
look "flame" { glow = 0.013, texture = "gauss", radius_scale = 3.6 }
render {
  background = "dark", ground = "none", box = false,
  camera_position = {0, 0.7, 3.4}, camera_target = {0, 0.62, 0},
}
