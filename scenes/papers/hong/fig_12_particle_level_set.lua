-- Hong 2009, Fig. 12: a particle level set in 2D with its particles of both signs (no sizes are given; band of 6 cells as stated).
domain { min = {0, 0, 0}, max = {1, 1, 0}, dimension = 2 }
grid { cell = 1/64, cfl = 1, advection = "semi_lagrangian" }
level_set { air_particles = true, particle_band = 6, show_particles = true }
liquid "water" { method = "level_set", viscosity = 8.9e-4,
  shape = box { min = {-1, -1, 0}, max = {0.35, 0.6, 0} } }
output { frames = 60, fps = 30 }
-- inside blue, outside orange
look "water.markers" {
  color_by = "sign", color_map = "two", range_min = -1, range_max = 1, color = {0.10, 0.35, 0.75}, color_end = {0.90, 0.45, 0.10},
  radius_scale = 0.55,
}
