-- A torch carried to and fro: particles are born where it is, rise, fade and die.
domain { min = {-1, -0.3, -1}, max = {1, 2.4, 1} }
fire "torch" {
  particles = 6000, radius = 0.12, sprite_radius = 0.03, life_spread = 0.3,
  position = function(t) return {0.5 * math.sin(2 * t), 0.1 * math.sin(4 * t), 0} end,
}

output { frames = 60, fps = 30 }
look "torch" { glow = 0.25 }
render {
  background = "dark", ground = "none", box = false,
  camera_position = {0, 0.8, 4.5}, camera_target = {0, 0.8, 0},
}
