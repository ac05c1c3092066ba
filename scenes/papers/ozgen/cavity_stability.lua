-- A viscous lid-driven cavity at a step that plain viscosity does not survive
-- (Ozgen 2013, Fig. 4.12; neither counts nor steps are given there). Re = U L / nu = 1.
--
-- Plain viscosity is stable up to 0.25 ms here. To see it blow up at this step:
--   kelpie run scenes/papers/ozgen/cavity_stability.lua --set sph.viscosity_model=laplacian
local n = 40
local spacing = 1 / n

domain { dimension = 2, min = {0, 0, 0}, max = {1, 1 + 4 * spacing, 1} }
gravity { 0, 0, 0 }
simulation { dt = 5e-4, policy = "stop" }
sph { viscosity_model = "fractional", fractional_order = 0.5, fractional_steps = 10, shifting = 2 }

liquid "oil" {
  spacing = spacing,
  viscosity = 1000,
  sound_speed = 20,
  clamp_negative_pressure = false,
  shape = box { min = {0, 0, -1}, max = {1, 1, 1} },
}

collider "lid" {
  shape = box { min = {0, 1, -1}, max = {1, 1 + 3 * spacing, 1} },
  surface_velocity = {1, 0, 0},
  visible = false,
}

output { frames = 40, fps = 20, surface = false }
look "oil" { color_by = "velocity", range_max = 0.5 }
render { camera_frame = "domain", camera_zoom = 0.8, ground = "none", background = "dark" }
