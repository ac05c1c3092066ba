-- A burning gas past a ball that moves, in a box that is open on four sides.
domain { min = {0, 0, 0}, max = {1, 1.5, 1}, boundary_x = "open", boundary_z = "open", open_top = true }
simulation { dt_max = 1 / 48 }
grid { cell = 1 / 10, stream = {0.5, 0, 0.1} }
smoke "gas" {
  shape = sphere { center = {0.5, 0.6, 0.5}, radius = 0.3 }, density = 0.8, fuel = 0.6, temperature = 900,
  burn_rate = 4, ignition = 500, heat = 1900, soot = 0.6, expansion = 2.5, radiation = 5000, hottest = 1900,
  cooling = 0.8, dissipation = 0.7, lift = 0.02, weight = 0.1, confinement = 2, viscosity = 0.05,
}
source "vent" { into = "gas", shape = cylinder { a = {0.5, 0.05, 0.5}, b = {0.5, 0.25, 0.5}, radius = 0.25 },
  density = 1, temperature = 800, fuel_rate = 2, noise = 0.5, velocity = {0, 1, 0}, divergence = 2 }
collider "ball" { shape = sphere { center = {0, 0, 0}, radius = 0.16 }, position = function(t) return {0.3 + t, 0.9, 0.5} end }
output { frames = 1 }
