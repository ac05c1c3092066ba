-- A fireball: a cloud of fuel is lit at its heart, swells, rises and rolls into a mushroom.
domain { min = {-2, 0, -2}, max = {2, 6, 2}, boundary_x = "open", boundary_z = "open", open_top = true }
simulation { dt_max = 1 / 48 }
grid { cell = 4 / 32 }

smoke "blast" {
  shape = sphere { center = {0, 0.7, 0}, radius = 0.65 },
  density = 0.2, fuel = 1, temperature = 900,
  burn_rate = 1.6, ignition = 500, heat = 2800, soot = 2.5, expansion = 5,
  radiation = 1100, hottest = 2400, cooling = 0.1, dissipation = 0.05,
  lift = 0.005, confinement = 3,
}

source "charge" {
  into = "blast",
  shape = sphere { center = {0, 0.7, 0}, radius = 0.6 },
  fuel_rate = 3, temperature_rate = 1500, noise = 1, noise_scale = 0.35, noise_time = 0.08, stop = 0.25,
  divergence = function(t) return t < 0.25 and 8 * (1 - t / 0.25) or 0 end,
}

look "rolls" { visible = false }

vortices "rolls" {
  into = "blast",
  shape = sphere { center = {0, 0.7, 0}, radius = 0.7 },
  rule = "random", rate = 400, stop = 0.4, magnitude = 3, radius = 0.5, radius_spread = 0.4, kernel = "unit_tent",
}

output { frames = 84, fps = 24 }
-- at night: the fire lights the ground
render {
  background = "dark", box = false, sun_strength = 0.12, sky_strength = 0.35, exposure = 0.6,
  camera_position = {3.7, 2.1, 8.2}, camera_target = {0, 1.75, 0},
}
