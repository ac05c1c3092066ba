-- A dam of Re = sqrt(g h) h / nu = 20 breaks, with viscosity by half-derivatives
-- (Ozgen 2013, Fig. 4.14 and 4.15; neither counts nor Reynolds numbers are given there).
-- At this one the liquid is it slumps.
local spacing = 0.5 / 32
local height = 0.5
local reynolds = 20
local viscosity = 1000 * math.sqrt(9.81 * height) * height / reynolds

domain { min = {0, 0, 0}, max = {1.5, 0.75, 0.5}, open_top = true }
sph { viscosity_model = "fractional", fractional_order = 0.5, fractional_steps = 10 }

liquid "water" {
  spacing = spacing,
  viscosity = viscosity,
  shape = box { min = {0, 0, 0}, max = {height, height, 0.5} },
}

output { frames = 48, fps = 60, surface = { from = "water", field = "anisotropic" } }
render { camera_azimuth_deg = 30, camera_elevation_deg = 16, camera_frame = "domain", camera_zoom = 0.95, background = "sky" }
