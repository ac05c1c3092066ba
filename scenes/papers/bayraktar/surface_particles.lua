-- Surface particles (Bayraktar 2010, section 5.3): a dam break whose particles at the surface are red.
domain { dimension = 2, min = {0, 0, 0}, max = {1.6, 0.9, 0}, open_top = true }
sph { surface_particles = true, slip = 1 }
liquid "water" { spacing = 0.012, shape = box { min = {0, 0, 0}, max = {0.5, 0.7, 0} }, viscosity = 0.5 }
output { frames = 60, fps = 40, surface = false }
look "water" { color_by = "surface", color_map = "two", range_min = 0, range_max = 1, color = {0.08, 0.08, 0.10}, color_end = {0.85, 0.12, 0.10}, smooth = 0, gloss = 0 }
render { camera_azimuth_deg = 0, camera_elevation_deg = 0, ground = "none", occlusion = 0 }
