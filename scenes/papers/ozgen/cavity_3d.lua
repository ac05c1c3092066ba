-- Ozgen 2013, Fig. 4.13 (S13): the early, unsteady phase of a shear-driven cavity in three dimensions; regional
-- mean speed and direction. 21K particles:
--   kelpie run scenes/papers/ozgen/cavity_3d.lua -o out/sph21k
-- 6K particles, plain and fractional:
--   kelpie run ... -o out/sph6k --set water.spacing=0.05555555555555555
--   kelpie run ... -o out/fsph6k --set water.spacing=0.05555555555555555 --set sph.viscosity_model=fractional
-- and then kelpie measure out/sph21k out/fsph6k out/sph6k; kelpie render with the colours of the speed.
domain { min = {0, 0, 0}, max = {1, 1, 1}, open_top = true }
gravity { 0, 0, 0 }
simulation { dt = 0.001 }
sph { kernel = "wendland", support = 2.6, wall = "sph", slip = 0, shifting = 6 }

liquid "water" {
  spacing = 1 / 28, rest_density = 1, viscosity = 0.01,
  eos = "linear", sound_speed = 10, clamp_negative_pressure = false,
  shape = box { min = {0, 0, 0}, max = {1, 1, 1} },
}

collider "lid" {
  shape = box { min = {-0.2, 1, -0.2}, max = {1.2, 1.2, 1.2} },
  surface_velocity = {1, 0, 0},
  layers = 3, visible = false,
}

probe "raster" {
  of = "water",
  min = {1 / 12, 1 / 12, 1 / 8}, max = {11 / 12, 11 / 12, 7 / 8}, counts = {6, 6, 4}, radius = 1 / 12, every = 10,
}

output { frames = 20, fps = 20, surface = { from = "water" } }
look "surface of water" { water = false, color_by = "speed", color_map = "viridis", range_min = 0, range_max = 0.5, gloss = 0.4 }
look "water" { color_by = "speed", color_map = "viridis", range_min = 0, range_max = 0.5, smooth = 0.8 }
render { box = false, camera_azimuth_deg = 24, camera_elevation_deg = 22 }
