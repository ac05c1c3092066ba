-- A fountain fills up (Bayraktar 2010, Fig. 7.8a: 64 K particles of water, 64 K of walls).
local spacing = 0.0105

domain { min = {-0.5, -0.05, -0.5}, max = {0.5, 1.0, 0.5}, boundary_x = "open", boundary_y = "open", boundary_z = "open" }
sph { density = "continuity", viscosity_model = "artificial", slip = 0.5 }

liquid "water" { spacing = spacing, artificial_viscosity = 0.1, sound_speed = 35 }
-- One jet in the middle, six around it that lean inward.
emitter "middle" {
  into = "water", position = {0, 0.30, 0}, direction = {0, 1, 0}, radius = 0.03, speed = 2.6,
  stop = 60, limit = 22000,
}
for i = 1, 6 do
  local a = math.rad(60 * i)
  local x, z = math.cos(a), math.sin(a)
  emitter("jet" .. i) {
    into = "water", position = {0.33 * x, 0.16, 0.33 * z}, direction = {-0.42 * x, 1, -0.42 * z},
    radius = 0.018, speed = 2.0, stop = 60, limit = 7000,
  }
end

-- A round basin, seen from inside, and a column with a bowl.
local stone = {0.55, 0.52, 0.47}
collider "basin" {
  shape = cylinder { a = {0, 0, 0}, b = {0, 0.96, 0}, radius = 0.45, invert = true },
  spacing = 0.0118, layers = 2, visible = false,
}
collider "column" { shape = cylinder { a = {0, -0.02, 0}, b = {0, 0.22, 0}, radius = 0.05 }, spacing = 0.0105, layers = 2, color = stone }
collider "bowl" { shape = cylinder { a = {0, 0.22, 0}, b = {0, 0.26, 0}, radius = 0.16 }, spacing = 0.0105, layers = 2, color = stone }

output { frames = 300, fps = 60, surface = { from = "water", field = "anisotropic" } }
render { camera_position = {1.0, 0.85, 1.45}, camera_target = {0, 0.27, 0}, box = false, ground_height = 0.05, background = "sky" }
