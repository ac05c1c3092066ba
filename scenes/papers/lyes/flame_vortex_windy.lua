-- A flame of vortices over a hidden ball in a wind that blows to and fro (Lyes 2015, Fig. 7.2 lower right); the grid follows it.
domain { min = {-1.5, -0.4, -1.5}, max = {1.5, 3.2, 1.5} }
collider "wick" { shape = sphere { radius = 0.2 }, visible = false }
fire "flame" {
  method = "vortex", particles = 32768, emitter = "sphere", radius = 0.21, sprite_radius = 0.016,
  velocity = {0, 1.2, 0}, decay_center = 0.45, decay_rim = 0.9, wind = 20,
}
vortex_fire { cell = 0.04, reach = 2.6, limit = 60, shedding = 20, rise_rate = 10, lightness = 0.005, bright = 8 }

output { frames = 120, fps = 60 }
look "flame" { glow = 0.014, texture = "gauss", radius_scale = 3.6 }
render {
  background = "dark", ground = "none", box = false,
  camera_position = {0, 0.9, 4.2}, camera_target = {0, 0.9, 0},
}
