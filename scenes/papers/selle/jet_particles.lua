-- Selle 2008, section 3.5: a laminar stream that stays laminar with confinement alone and is stirred by vortex particles.
domain { min = {0, 0, 0}, max = {1.6, 0.8, 0.8}, boundary_x = "open" }
gravity { 0, 0, 0 }
simulation { dt_max = 1 / 24 }
grid { cell = 0.02, cfl = 1.75, stream = {1, 0, 0} }

smoke "jet" { empty = true, lift = 0, confinement = 1 }
source "dye" { into = "jet", shape = cylinder { a = {0.0, 0.4, 0.4}, b = {0.08, 0.4, 0.4}, radius = 0.15 }, density = 1 }
vortices "swarm" {
  into = "jet", shape = cylinder { a = {0.1, 0.4, 0.4}, b = {0.14, 0.4, 0.4}, radius = 0.15 },
  rate = 240, magnitude = 0.02, radius = 0.08, radius_spread = 0.3,
}
look "swarm" { visible = false }

output { frames = 96, fps = 24 }
