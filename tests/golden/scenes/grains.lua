-- Grains of several sizes on a slope beside a box, with a spout.
domain { min = {0, 0, 0}, max = {0.3, 0.3, 0.2}, open_top = true }
grains "sand" { spacing = 0.03, size_ratio = 0.6, jitter = 0.2, contact_time = 0.01, rolling_friction = 0.1, velocity = {0.5, -1, 0.2}, spin = {1, 2, 3},
  shape = box { min = {0.02, 0.02, 0}, max = {0.2, 0.14, 0.2} } }
grains "bed" { spacing = 0.03, frozen = true, contact_time = 0.01, shape = box { min = {0.22, 0, 0}, max = {0.3, 0.03, 0.2} } }
collider "slope" { shape = plane { point = {0, 0, 0}, normal = {0.2, 1, 0} } }
body "box" { shape = box { min = {0.1, 0.15, 0.05}, max = {0.18, 0.2, 0.15} }, density = 2000, velocity = {0, -2, 0} }
emitter "spout" { into = "sand", position = {0.24, 0.2, 0.1}, direction = {0, -1, 0}, radius = 0.04, speed = 3 }
output { frames = 1 }
