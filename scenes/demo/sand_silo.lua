-- Silo: sand runs out of a wedge-shaped hopper and heaps up below it.
local spacing = 0.012

domain { min = {-0.2, 0, 0}, max = {0.2, 0.52, 0.072} }

grains "sand" {
  spacing = spacing,
  size_ratio = 0.7,
  shape = box { min = {-0.144, 0.36, 0}, max = {0.144, 0.50, 0.072} },
  density = 2500, contact_time = 1.5e-3,
  restitution = 0.3,
  friction = 0.5,
  rolling_friction = 0.15,
  color = {0.66, 0.50, 0.28},
}

-- two plates, turned to a funnel with a neck of five grains
collider "left" {
  shape = box { min = {-0.26, -0.016, -0.01}, max = {0, 0, 0.082} },
  position = {-0.032, 0.22, 0}, rotation_deg = {0, 0, -48},
  spacing = 0.01,
  color = {0.50, 0.52, 0.56},
}
collider "right" {
  shape = box { min = {0, -0.016, -0.01}, max = {0.26, 0, 0.082} },
  position = {0.032, 0.22, 0}, rotation_deg = {0, 0, 48},
  spacing = 0.01,
  color = {0.50, 0.52, 0.56},
}

output { frames = 75, fps = 30 }

render { camera_position = {0.22, 0.30, 0.86}, camera_target = {0, 0.19, 0.036}, box = false }
