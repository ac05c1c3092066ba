-- A candle: a small steady flame on a wick, vapour that burns where it meets heat.
domain { min = {-0.03, 0, -0.03}, max = {0.03, 0.12, 0.03}, boundary_x = "open", boundary_z = "open", open_top = true }
simulation { dt_max = 1 / 120 }
grid { cell = 0.06 / 24 }

smoke "flame" {
  empty = true,
  burn_rate = 40, ignition = 700, heat = 1500, soot = 0.03, expansion = 1.3,
  radiation = 26000, hottest = 2100, cooling = 16, dissipation = 8,
  lift = 0.008,
}

source "wick" {
  into = "flame",
  shape = sphere { center = {0, 0.047, 0}, radius = 0.0055 },
  fuel = 0.9, temperature = 1250, noise = 0.05,
}

collider "candle" {
  shape = cylinder { a = {0, -0.01, 0}, b = {0, 0.036, 0}, radius = 0.012 },
  color = {0.85, 0.78, 0.62},
}
collider "string" {
  shape = cylinder { a = {0, 0.03, 0}, b = {0, 0.044, 0}, radius = 0.0022 },
  color = {0.05, 0.04, 0.03},
}

output { frames = 72, fps = 24 }
render {
  background = "dark", box = false, sun_strength = 0.1, sky_strength = 0.35, exposure = 0.5,
  camera_position = {0.05, 0.085, 0.235}, camera_target = {0, 0.05, 0},
}
