-- Grains that sink in water beside a body, all of which push each other.
domain { min = {0, 0, 0}, max = {0.24, 0.3, 0.16}, open_top = true }
sph { density = "continuity", viscosity_model = "artificial", slip = 1 }
liquid "water" { spacing = 0.03, viscosity = 0.01, sound_speed = 10, shape = box { min = {0, 0, 0}, max = {0.24, 0.15, 0.16} } }
grains "sand" { spacing = 0.025, size_ratio = 0.7, jitter = 0.1, contact_time = 0.01, velocity = {0.2, -1, 0},
  shape = box { min = {0.02, 0.1, 0.02}, max = {0.1, 0.2, 0.14} } }
body "stone" { shape = box { min = {-0.03, -0.03, -0.03}, max = {0.03, 0.03, 0.03} }, position = {0.17, 0.15, 0.08},
  rotation_deg = {10, 20, 30}, density = 2000, velocity = {-0.5, -0.5, 0} }
output { frames = 1 }
