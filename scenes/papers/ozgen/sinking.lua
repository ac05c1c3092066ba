-- A cloth sinks slowly through a current (Ozgen 2013, Eq. 3.1 and section 3.3.1): 31 x 21 nodes,
-- slightly heavier than water.
domain { min = {-3, -4, -2}, max = {3, 1, 2} }
solids { dt = 1/960, inner = 16 }
cloth "towel" {
  width = 1.2, height = 0.8, columns = 30, rows = 20, rotation_deg = {20, 0, 10}, density = 0.417,
  model = "grid", bend_diagonals = true, stiffness = 20, shear = 10, bend_stiffness = 0.5,
  damping = 0, bend_damping = 0, drag = 8, self = false, scheme = "symplectic",
  color = {0.65, 0.05, 0.05},
}
immersion "sea" {
  of = "towel", fibre_density = 1100, damping = 0.05, damping_shear = 0.025, damping_bend = 0.00125,
  drag = 0.625, memory_drag = 6.25, memory = 1, samples = 128,
  current = function(t) return {0.15 * math.sin(0.8 * t), 0, 0.05} end,
}
output { frames = 240, fps = 30 }
look "towel" { color = {0.85, 0.30, 0.26}, two_sided = true, color_back = {0.95, 0.80, 0.62}, gloss = 0.3 }
render { camera_azimuth_deg = 25, camera_elevation_deg = 14, camera_zoom = 1.35, sun = {-0.6, 0.6, 0.3}, sky_strength = 0.8 }
