-- A flame of vortices over a hidden ball, in still air (Lyes 2015, Figs 6.6 and 7.2 lower left).
-- The source gives neither numbers of particles nor steps; 32,768 is where its timings are in the middle.
domain { min = {-1.5, -0.4, -1.5}, max = {1.5, 3.2, 1.5} }
collider "wick" { shape = sphere { radius = 0.2 }, visible = false }
fire "flame" {
  method = "vortex", particles = 32768, emitter = "sphere", radius = 0.21, sprite_radius = 0.016,
  velocity = {0, 1.2, 0}, decay_center = 0.45, decay_rim = 0.9,
}
vortex_fire { cell = 0.04, reach = 2.6, limit = 60, shedding = 20, rise_rate = 10, lightness = 0.005, bright = 8 }

output { frames = 120, fps = 60 }
look "flame" { glow = 0.014, texture = "gauss", radius_scale = 3.6 }
render {
  background = "dark", ground = "none", box = false,
  camera_position = {0, 0.9, 4.2}, camera_target = {0, 0.9, 0},
}
