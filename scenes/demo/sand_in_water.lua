-- Sand in water: a block of sand and some light beads are let go in a tank; sand sinks, beads rise.
local spacing = 0.014

domain { min = {0, 0, 0}, max = {0.336, 0.28, 0.112}, open_top = true }

sph { density = "continuity", viscosity_model = "artificial", slip = 1 }

liquid "water" {
  spacing = spacing,
  viscosity = 0.01,
  sound_speed = 15,
  shape = box { min = {0, 0, 0}, max = {0.336, 0.168, 0.112} },
}

grains "sand" {
  spacing = 0.010, size_ratio = 0.7,
  shape = box { min = {0.03, 0.18, 0.01}, max = {0.14, 0.25, 0.10} },
  density = 2500, contact_time = 4e-3,
  restitution = 0.4, friction = 0.5, rolling_friction = 0.1,
  color = {0.62, 0.45, 0.22},
}

grains "beads" {
  spacing = 0.014,
  shape = box { min = {0.22, 0.02, 0.02}, max = {0.30, 0.06, 0.09} },
  density = 400, contact_time = 4e-3,
  friction = 0.2,
  color = {0.85, 0.25, 0.15},
}

output { frames = 50, fps = 30, surface = { from = "water" } }

look "water" { color = {0.25, 0.5, 0.8}, radius_scale = 0.3, smooth = 0 }
render { camera_azimuth_deg = 25, camera_elevation_deg = 14, background = "sky" }
