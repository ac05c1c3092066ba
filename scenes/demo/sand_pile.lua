-- Sand pile: grains of mixed sizes pour on a plate and heap up to their angle of repose.
local spacing = 0.016

domain {
  min = {-0.3, 0, -0.3}, max = {0.3, 0.4, 0.3},
  open_top = true,
}

grains "sand" {
  spacing = spacing,
  size_ratio = 0.6,                 -- smallest radius over the largest
  empty = true,
  density = 2500, contact_time = 2e-3,
  restitution = 0.3,
  friction = 0.6,
  rolling_friction = 0.2,           -- as of grains that are not round
  color = {0.60, 0.44, 0.24},
}

emitter "spout" {
  into = "sand",
  position = {0, 0.2, 0}, direction = {0, -1, 0},
  radius = 0.035,
  speed = 0.4,
  stop = 3.6,
}

output { frames = 100, fps = 25 }

render { camera_position = {0.30, 0.22, 0.48}, camera_target = {0, 0.035, 0}, box = false }
