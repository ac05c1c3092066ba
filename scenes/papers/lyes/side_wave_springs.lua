-- Water let go along the left wall washes to and fro: spring-mass (Lyes 2015, Fig. 6.8 right: 2^19
-- particles). Its waves are flatter than those of side_wave.
domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5} }
liquid "water" {
  method = "springs", spacing = 0.00737, jitter = 0.05,
  shape = box { min = {-0.5, -0.45, -0.5}, max = {-0.2, 0.25, 0.5} },
}

output { frames = 180, fps = 60, surface = { from = "water" } }
render { camera_position = {1.15, 0.35, 1.75}, camera_target = {0, -0.12, 0}, box = false, background = "sky" }
