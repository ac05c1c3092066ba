-- A flame of particles that do not meet, in still air (Lyes 2015, Fig. 7.2 upper left; Listing 6.1).
domain { min = {-1, -0.3, -1}, max = {1, 3.2, 1} }
fire "flame" { method = "particles", particles = 32768, sprite_radius = 0.03,
  color = {1.0, 0.62, 0.16}, color_spread = {0, 0.10, 0.04}, color_rim = {0.9, 0.16, 0.01} }

output { frames = 120, fps = 60 }
look "flame" { glow = 0.012, texture = "gauss", radius_scale = 2.4 }
render {
  background = "dark", ground = "none", box = false,
  camera_position = {0, 1.25, 5.0}, camera_target = {0, 1.25, 0},
}
