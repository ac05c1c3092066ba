-- A plume of smoke past a ball that swings through it.
domain { min = {-0.6, 0, -0.6}, max = {0.6, 1.8, 0.6}, boundary_x = "open", boundary_z = "open", open_top = true }
simulation { dt_max = 1 / 48 }
grid { cell = 1.2 / 32 }

smoke "plume" { empty = true, confinement = 2, dissipation = 0.05, cooling = 0.2 }

source "vent" {
  into = "plume",
  shape = cylinder { a = {0, 0.04, 0}, b = {0, 0.16, 0}, radius = 0.15 },
  density = 1, temperature = 383, noise = 0.5,
}

collider "ball" {
  shape = sphere { center = {0, 0, 0}, radius = 0.16 },
  position = function(t) return {0.3 * math.sin(2.2 * t), 0.75, 0} end,
  color = {0.75, 0.2, 0.1},
}

output { frames = 96, fps = 24 }
look "plume" { color = {0.80, 0.80, 0.81} }
