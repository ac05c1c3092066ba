-- A water drop of 5 mm falls onto a ball, with surface tension: it spreads, holds together and runs off in beads (after Hong 2009, Figs 40-41).
-- Without tension:  kelpie run scenes/demo/drop_on_ball.lua --set water.surface_tension=0
domain { min = {-0.024, 0, 0}, max = {0.024, 0.036, 0}, dimension = 2 }
gravity { 0, -9.81, 0 }

liquid "water" {
  method = "flip",
  spacing = 0.0003,                          -- cells of 0.6 mm
  viscosity = 8.9e-4,
  surface_tension = 0.0728,
  velocity = {0, -0.5, 0},
  shape = sphere { center = {0, 0.027, 0}, radius = 0.005 },
}
collider "ball" { shape = sphere { center = {0, 0.010, 0}, radius = 0.008 }, color = {0.6, 0.45, 0.3} }

output { frames = 30, fps = 600, surface = false }
look "water" { color_by = "speed", color_map = "water", range_min = 0, range_max = 0.7, smooth = 0, gloss = 0 }
render { background = "dark", exposure = 0.8, ground = "none", box = false, camera_azimuth_deg = 0, camera_elevation_deg = 0, camera_frame = "domain", camera_zoom = 1.5 }
