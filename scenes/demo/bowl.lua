-- Bowl: balls and dice fall into a thin rigid shell that rocks on the floor.
domain { min = {-2, 0, -2}, max = {2, 4, 2}, open_top = true }

body "bowl" {
  shape = mesh { file = "meshes/bowl.obj", shell = 0.02 }, position = {0, 0.52, 0}, rotation_deg = {12, 0, 8},
  density = 2400, friction = 0.5, color = {0.80, 0.82, 0.84},
}
local glaze = { {0.90, 0.20, 0.15}, {0.95, 0.62, 0.10}, {0.12, 0.45, 0.70}, {0.20, 0.58, 0.35}, {0.62, 0.22, 0.52} }
look "bowl" { color = {0.30, 0.56, 0.62}, gloss = 0.6 }
for i = 0, 23 do
  local die = i % 3 == 0
  body(string.format("piece%02d", i)) {
    shape = die and box { min = {-0.06, -0.06, -0.06}, max = {0.06, 0.06, 0.06} } or sphere { center = {0, 0, 0}, radius = 0.07 },
    position = {0.17 * (i % 3 - 1), 0.75 + 0.2 * (i // 9), 0.17 * (i // 3 % 3 - 1)}, rotation_deg = {23 * i, 0, 41 * i},
    density = 700, friction = 0.5, restitution = 0.3, rolling_friction = 0.001,
  }
  look(string.format("piece%02d", i)) { color = die and {0.95, 0.92, 0.85} or glaze[i % 5 + 1], gloss = 0.6 }
end

output { frames = 150, fps = 60 }
render { camera_position = {0.75, 1.35, 1.35}, camera_target = {0, 0.22, 0}, box = false }
