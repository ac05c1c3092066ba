-- The same flame in a wind of two periods, 0.5 s along x and 0.6 s along z (Lyes 2015, Fig. 7.2 upper
-- right; section 6.2).
domain { min = {-2, -0.3, -2}, max = {2, 3.2, 2} }
fire "flame" { method = "particles", particles = 32768, sprite_radius = 0.03,
  color = {1.0, 0.62, 0.16}, color_spread = {0, 0.10, 0.04}, color_rim = {0.9, 0.16, 0.01}, wind = 3 }

output { frames = 120, fps = 60 }
look "flame" { glow = 0.012, texture = "gauss", radius_scale = 2.4 }
render {
  background = "dark", ground = "none", box = false,
  camera_position = {0, 1.25, 5.0}, camera_target = {0, 1.25, 0},
}
