-- A flame of vortices over a ball: they turn each other, are set turning by the ball and rise, pushed to and fro by a wind.
domain { min = {-1, -0.4, -1}, max = {1, 2.6, 1} }
collider "wick" { shape = sphere { radius = 0.2 }, color = {0.12, 0.1, 0.1} }
fire "flame" {
  method = "vortex", particles = 12000, emitter = "clustered_disc", position = {0, 0.18, 0}, radius = 0.2,
  velocity = {0, 1.3, 0}, velocity_spread = {0.2, 0.4, 0.2}, decay_center = 0.6, decay_rim = 1.6, wind = 8,
  color = {1, 0.4, 0.04}, color_spread = {0, 0.12, 0.04}, sprite_radius = 0.018,
}
vortex_fire { reach = 2.6, limit = 90, shedding = 40, lightness = 0.015, bright = 14 }

output { frames = 60, fps = 30 }
look "flame" { glow = 0.014, texture = "gauss", radius_scale = 3 }
render {
  background = "dark", ground = "none", box = false,
  camera_position = {0, 0.8, 3.2}, camera_target = {0, 0.68, 0},
}
