-- Lid-driven cavity: a unit square of n x n particles, a lid that slides with 1 m/s along +x and walls at rest.
-- probes_u.csv holds u on x = 1/2, probes_v.csv holds v on y = 1/2.
return function(n, reynolds)
  local dx = 1 / n

  domain { dimension = 2, min = {0, 0, 0}, max = {1, 1, 1}, open_top = true }
  gravity { 0, 0, 0 }
  sph { kernel = "wendland", support = 3, wall = "sph", slip = 0, shifting = 6 }

  liquid "water" {
    spacing = dx, rest_density = 1, viscosity = 1 / reynolds,
    eos = "linear", sound_speed = 10, clamp_negative_pressure = false,
    shape = box { min = {0, 0, -1}, max = {1, 1, 1} },
  }

  -- the open top of the domain is closed by the lid, which slides in place
  collider "lid" {
    shape = box { min = {-0.2, 1, -1}, max = {1.2, 1.2, 1} },
    surface_velocity = {1, 0, 0},
    layers = 3, visible = false,
  }

  probe "u" { of = "water", kind = "fit", min = {0.5, dx / 2, 0}, max = {0.5, 1 - dx / 2, 0}, counts = {1, n, 1}, radius = 2 * dx, interval = 0.25 }
  probe "v" { of = "water", kind = "fit", min = {dx / 2, 0.5, 0}, max = {1 - dx / 2, 0.5, 0}, counts = {n, 1, 1}, radius = 2 * dx, interval = 0.25 }

  render { camera_azimuth_deg = 0, camera_elevation_deg = 0, background = "dark", exposure = 1.2, ground = "none", occlusion = 0 }
  look "water" { color_by = "speed", color_map = "viridis", range_min = 0, range_max = 0.7, radius_scale = 1.3, smooth = 0, gloss = 0 }
end
