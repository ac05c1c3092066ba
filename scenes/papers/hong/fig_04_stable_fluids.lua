-- Hong 2009, Fig. 4: a liquid by stable fluids with a particle level set (no sizes are given: a dam, 64 cells across).
-- There is room above, so that the splash is not cut off by the top of the domain.
domain { min = {0, 0, 0}, max = {1, 1.75, 1} }
grid { cell = 1/64, cfl = 1, advection = "semi_lagrangian" }
level_set { air_particles = true }
liquid "water" { method = "level_set", viscosity = 8.9e-4,
  shape = box { min = {-1, -1, -1}, max = {0.35, 0.6, 2} } }
output { frames = 60, fps = 30 }
