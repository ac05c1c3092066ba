-- A box of half the density of water comes to rest with half its height below the surface (Archimedes). It starts
-- in the water: what is inside it is left out with a warning.
domain { dimension = 2, min = {0, 0, 0}, max = {1, 0.8, 1} }
gravity { 0, -9.81, 0 }
sph { wall = "sph" }

liquid "water" {
  spacing = 0.02,
  viscosity = 4,
  shape = box { min = {0, 0, -1}, max = {1, 0.4, 1} },
}

body "raft" {
  density = 500,
  shape = box { min = {0.32, 0.31, -1}, max = {0.68, 0.51, 1} },
}

probe "pose" { of = "raft", kind = "track" }

output { frames = 90, fps = 30, surface = false }
