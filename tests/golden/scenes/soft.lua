-- A soft block that falls on a plate and on another one, pinned at a corner.
domain { min = {-0.5, 0, -0.5}, max = {0.5, 1, 0.5} }
solids { inner = 4 }
soft "block" { shape = box { min = {-0.12, 0.08, -0.12}, max = {0.12, 0.3, 0.12} }, spacing = 0.08, density = 500, young = 4e4, velocity = {0.3, -3, 0}, spin = {2, 1, 3},
  stiffness = 500, thickness = 0.01 }
soft "ball" { shape = sphere { center = {0.05, 0.4, 0.02}, radius = 0.08 }, spacing = 0.08, density = 400, young = 2e4, velocity = {0, -4, 0}, thickness = 0.01 }
collider "plate" { shape = box { min = {-0.2, 0, -0.2}, max = {0.2, 0.07, 0.2} } }
body "weight" { shape = box { min = {-0.2, 0.3, -0.05}, max = {-0.08, 0.4, 0.05} }, velocity = {0, -3, 0}, density = 400 }
pin "corner" { of = "block", shape = box { min = {-0.13, 0.07, -0.13}, max = {-0.1, 0.1, -0.1} } }
output { frames = 1 }
