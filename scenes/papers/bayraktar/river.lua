-- A river runs through rocks in a valley (Bayraktar 2010, Fig. 7.3: 60 K particles of water, 220 K of
-- walls).
local spacing = 0.0125

domain {
  min = {0, 0, -0.8}, max = {3.2, 1.0, 0.8},
  boundary_x = "open", boundary_y = "open", boundary_z = "open",
}
sph { wall = "sph", slip = 0.5 }

-- A spring gives 60 thousand particles; what passes the end of the valley is gone.
liquid "water" { spacing = spacing, viscosity = 0.4, sound_speed = 25 }
emitter "spring" {
  into = "water", position = {0.12, 0.55, 0.05}, direction = {0.7, -0.7, 0.25}, radius = 0.1, speed = 1.3,
  stop = 60, limit = 60000,
}

local sample = 0.0089
collider "valley" {
  shape = mesh { file = "meshes/valley.obj" }, spacing = sample, layers = 1, color = {0.32, 0.30, 0.26},
}
-- x, z, height of the middle, size, turn
local rocks = {
  {0.62, 0.20, 0.29, 1.0, 10}, {0.86, 0.28, 0.27, 0.9, 70}, {0.98, 0.10, 0.28, 0.7, 130}, {1.12, 0.24, 0.25, 1.1, 200},
  {1.30, 0.06, 0.25, 0.9, 250}, {1.45, 0.17, 0.22, 0.7, 300}, {1.62, -0.02, 0.22, 1.0, 20}, {1.76, -0.14, 0.21, 0.8, 80},
  {1.95, 0.00, 0.21, 1.1, 140}, {2.12, -0.20, 0.19, 0.8, 210}, {2.30, -0.12, 0.18, 0.7, 260}, {2.46, -0.26, 0.17, 1.0, 310},
}
for i, r in ipairs(rocks) do
  collider("rock" .. i) {
    shape = mesh { file = "meshes/rock.obj", scale = r[4], rotate_deg = {0, r[5], 0}, translate = {r[1], r[3], r[2]} },
    spacing = sample, layers = 1, color = {0.40, 0.38, 0.36},
  }
end

output { frames = 300, fps = 60, surface = { from = "water", field = "anisotropic" } }
look "surface of water" { water = true, color = {0.10, 0.44, 0.62}, density = 8, cloudy = 0.5 }
look "valley" { color = {0.44, 0.41, 0.33}, gloss = 0.05 }
render { camera_position = {3.2, 1.35, 1.5}, camera_target = {1.38, 0.2, 0.03}, box = false, background = "sky" }
