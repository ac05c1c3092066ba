-- A deep pool in a narrow band: particles only within three cells of the surface, below it the grid is the water.
domain { min = {0, 0, 0}, max = {2, 1.2, 1} }
gravity { 0, -9.81, 0 }
grid { advection = "semi_lagrangian" }
flip { band = 3 }

liquid "water" {
  method = "flip",
  spacing = 0.025,                           -- cells are twice as wide
  viscosity = 0,
  shape = box { min = {0, 0, 0}, max = {1, 0.8, 1} },
}

output { frames = 30, fps = 30, surface = { field = "zhu-bridson" } }  -- smoother than ellipsoids for particles of FLIP
render { camera_azimuth_deg = 32, camera_elevation_deg = 20, background = "sky", samples = 4 }
