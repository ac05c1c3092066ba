-- A flame of vortices over a ball: they turn each other, curl around the ball and rise.
domain { min = {-1, -0.4, -1}, max = {1, 2.6, 1} }
collider "wick" { shape = sphere { radius = 0.2 }, color = {0.12, 0.1, 0.1} }
fire "flame" { method = "vortex", particles = 4000, emitter = "sphere", radius = 0.21, sprite_radius = 0.03 }
vortex_fire { limit = 60, bright = 4 }

output { frames = 60, fps = 30 }
look "flame" { glow = 0.028, texture = "gauss", radius_scale = 3 }
render {
  background = "dark", ground = "none", box = false,
  camera_position = {0, 0.8, 4.2}, camera_target = {0, 0.8, 0},
}
