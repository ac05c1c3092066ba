-- Drop oscillation (Bayraktar 2010, figure 5.6): a square of liquid without gravity and drag is pulled
-- round by surface tension and swings between its sides and its corners. Red: surface particles.
domain { dimension = 2, min = {-1, -1, 0}, max = {1, 1, 0}, boundary_x = "open", boundary_y = "open" }
gravity { 0, 0, 0 }

sph { tension = "color", support = 3, surface_particles = true }

liquid "blob" {
  spacing = 0.025,                         -- 1,600 particles
  shape = box { min = {-0.5, -0.5, 0}, max = {0.5, 0.5, 0} },
  rest_density = 1000,
  surface_tension = 100,                   -- sigma/rho of a drop that is a metre wide and swings in seconds
  viscosity = 24,
  sound_speed = 8,
}

output { frames = 150, fps = 15, surface = false }

look "blob" { color_by = "surface", color_map = "two", range_min = 0, range_max = 1, color = {0.08, 0.08, 0.10}, color_end = {0.85, 0.12, 0.10}, smooth = 0, gloss = 0 }
render { camera_azimuth_deg = 0, camera_elevation_deg = 0, ground = "none", occlusion = 0 }
