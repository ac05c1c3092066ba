-- A block of spring-mass water falls into the middle of a box and settles (Lyes 2015, Figs 5.3, 5.4
-- and 5.7; Table 6.1: 512,000 particles). The stiffness is calibrated for the depth, since the
-- printed one carries nothing; say springs { calibration = "printed" } to see that.
domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5} }
liquid "water" {
  method = "springs", spacing = 0.00625, jitter = 0.05,
  shape = box { min = {-0.25, -0.3, -0.25}, max = {0.25, 0.2, 0.25} },
}

output { frames = 120, fps = 60, surface = false }
look "water" { color_by = "velocity", color_map = "water", range_max = 3, smooth = 0.3, gloss = 0.4 }
render { camera_position = {0.95, 0.30, 1.5}, camera_target = {0.02, -0.32, 0}, box = false, background = "sky" }
