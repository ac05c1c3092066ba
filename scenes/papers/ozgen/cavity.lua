-- Ozgen 2013, Fig. 4.4 (S11): shear-driven cavity with 40K particles, u on x = 0.5 at t = 5 s.
-- The dissertation gives no Reynolds number; 100 here. Plain SPH as it stands; with fractional viscosity:
--   kelpie run scenes/papers/ozgen/cavity.lua --set sph.viscosity_model=fractional
--   ... --set sph.fractional_mode=raw       mu as printed in Eq. 4.6: about 1/S times less viscous
-- Compare the runs with kelpie measure, or the profiles in probes_u.csv.
local n = 200
local reynolds = 100
local dx = 1 / n

domain { dimension = 2, min = {0, 0, 0}, max = {1, 1, 1}, open_top = true }
gravity { 0, 0, 0 }
simulation { dt = 2.5e-4 }
sph { kernel = "wendland", support = 3, wall = "sph", slip = 0, shifting = 6 }

liquid "water" {
  spacing = dx, rest_density = 1, viscosity = 1 / reynolds,
  eos = "linear", sound_speed = 10, clamp_negative_pressure = false,
  shape = box { min = {0, 0, -1}, max = {1, 1, 1} },
}

collider "lid" {
  shape = box { min = {-0.2, 1, -1}, max = {1.2, 1.2, 1} },
  surface_velocity = {1, 0, 0},
  layers = 3, visible = false,
}

probe "u" { of = "water", kind = "fit", min = {0.5, 0.01, 0}, max = {0.5, 0.99, 0}, counts = {1, 99, 1}, radius = 2 * dx, interval = 0.25 }
probe "v" { of = "water", kind = "fit", min = {0.01, 0.5, 0}, max = {0.99, 0.5, 0}, counts = {99, 1, 1}, radius = 2 * dx, interval = 0.25 }

output { frames = 10, fps = 2, surface = false }
render { camera_azimuth_deg = 0, camera_elevation_deg = 0, background = "dark", exposure = 1.2, ground = "none", occlusion = 0 }
look "water" { color_by = "speed", color_map = "viridis", range_min = 0, range_max = 0.7, radius_scale = 1.6, smooth = 1, gloss = 0 }
