-- A plume of warm smoke over a round vent.
domain { min = {0, 0, 0}, max = {1, 1.5, 1}, boundary_x = "open", boundary_z = "open", open_top = true }
simulation { dt_max = 1 / 48 }
grid { cell = 1 / 32 }

smoke "plume" { empty = true, confinement = 2, dissipation = 0.1, cooling = 0.3 }

source "vent" {
  into = "plume",
  shape = cylinder { a = {0.5, 0.03, 0.5}, b = {0.5, 0.13, 0.5}, radius = 0.12 },
  density = 1, temperature = 373, noise = 0.5,
}

output { frames = 72, fps = 24 }
render { background = "dark", box = false, camera_frame = "domain", camera_zoom = 1.4 }
