-- Selle 2008, section 3.5: as used for film: 100^3 cells, about 200 particles of radius three cells, tent kernel.
domain { min = {0, 0, 0}, max = {1, 1, 1}, boundary_x = "open", boundary_z = "open", open_top = true }
simulation { dt_max = 1 / 24 }
grid { cell = 0.01, cfl = 1.75, advection = "maccormack", limiter = "revert" }

smoke "plume" { empty = true, lift = 0.03, confinement = 1 }
source "vent" { into = "plume", shape = sphere { center = {0.5, 0.12, 0.5}, radius = 0.08 }, density = 1, temperature = 363 }
vortices "swarm" {
  into = "plume", shape = sphere { center = {0.5, 0.14, 0.5}, radius = 0.08 },
  rate = 100, limit = 200, rule = "random", kernel = "tent", magnitude = 40, radius = 0.03,
}
look "swarm" { visible = false }

output { frames = 72, fps = 24 }
render { background = "dark", box = false, camera_frame = "domain", camera_zoom = 1.4 }
