-- A silo of beads of 2 cm empties through a slot of ten diameters, periodic along the slot:
-- W = 1.03 rho sqrt(g) L (B - 1.4 d)^1.5 with the density rho of the bed (Beverloo et al. 1961; Nedderman 1992, 10.4).
local d = 0.02
domain { min = {-14 * d, 0, 0}, max = {14 * d, 35 * d, 4 * d}, boundary_y = "open", boundary_z = "periodic" }
collider "left" { shape = box { min = {-28 * d, 2 * d, -1}, max = {-5 * d, 5 * d, 1} } }
collider "right" { shape = box { min = {5 * d, 2 * d, -1}, max = {28 * d, 5 * d, 1} } }
grains "beads" {
  spacing = d, friction = 0.5, contact_time = 3e-3,
  shape = box { min = {-14 * d, 5 * d, 0}, max = {14 * d, 35 * d, 4 * d} },
}
output { frames = 30, fps = 50 }
