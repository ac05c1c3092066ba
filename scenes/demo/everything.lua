-- Everything: all particle media in one world, each in its own corner of a tank. Water falls on
-- sand, a ball drops into ooze, soft spheres slump, a flame burns and charges settle in a globe.
--
-- Small on purpose: it is the scene that tests run on any number of threads, stop and resume.
local s = 0.025

domain { min = {0, 0, 0}, max = {1.6, 0.9, 0.4}, open_top = true }

-- left: grains, and water that is poured on them
grains "sand" {
  spacing = s, radius = 0.5 * s, size_ratio = 0.6, jitter = 0.05, friction = 0.6, rolling_friction = 0.1, contact_time = 0.004,
  shape = box { min = {0, 0, 0}, max = {0.4, 0.15, 0.4} },
}
liquid "water" {
  spacing = s, viscosity = 1.0,
  shape = box { min = {0.05, 0.3, 0.05}, max = {0.3, 0.5, 0.35} },
}
emitter "tap" {
  into = "water", position = {0.2, 0.8, 0.2}, direction = {0, -1, 0}, radius = 0.05, speed = 1.0, stop = 0.5,
}

-- middle: shear-thickening fluid and a ball; a wall on either side
collider "wall_a" { shape = box { min = {0.42, 0, -0.1}, max = {0.48, 0.5, 0.5} } }
liquid "ooze" {
  method = "stf", spacing = s, rest_density = 1200, color = {0.75, 0.70, 0.55},
  shape = box { min = {0.5, 0, 0}, max = {0.9, 0.15, 0.4} },
}
body "ball" { shape = sphere { center = {0.7, 0.45, 0.2}, radius = 0.07 }, density = 2500, color = {0.2, 0.2, 0.22} }
collider "wall_b" { shape = box { min = {0.92, 0, -0.1}, max = {0.98, 0.5, 0.5} } }

-- right: soft spheres, a pool of moving particles, a flame, a globe of charges
liquid "foam" {
  method = "springs", spacing = s, viscosity = 1.0, color = {0.55, 0.75, 0.80},
  shape = box { min = {1.0, 0, 0}, max = {1.25, 0.3, 0.4} },
}
liquid "pool" {
  method = "mps", spacing = s, viscosity = 1.0, color = {0.15, 0.45, 0.55},
  shape = box { min = {1.3, 0, 0}, max = {1.4, 0.15, 0.4} },
}
fire "flame" { particles = 2000, position = {1.5, 0.06, 0.2}, radius = 0.05, velocity = {0, 0.5, 0}, sprite_radius = 0.015, wind = 1 }
plasma "charges" {
  particles = 1000, shape = sphere { center = {1.15, 0.65, 0.2}, radius = 0.08 },
  container_center = {1.15, 0.65, 0.2}, container_radius = 0.16, influence = 0.04, strength = 2e-7, damping = 0.5,
}

look "surface of ooze" { water = false, color = {0.90, 0.84, 0.70}, gloss = 0.5 }
look "surface of foam" { water = false, color = {0.62, 0.82, 0.86}, gloss = 0.5 }
look "ooze" { color = {0.90, 0.84, 0.70}, gloss = 0.4 }
look "sand" { color = {0.80, 0.62, 0.36} }
output { frames = 60, fps = 60 }
render { camera_azimuth_deg = 20, camera_elevation_deg = 20, box = false, background = "sky" }
