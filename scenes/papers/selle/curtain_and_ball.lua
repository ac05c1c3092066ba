-- Curtain and ball (Selle 2008, Fig. 6.12): a ball flips a curtain of 1.7 million triangles onto itself and pushes
-- through its folds.
-- size: 0.109 of the cells along each side make 20 thousand triangles.
local size = 1
local columns, rows = math.floor(707 * size + 0.5), math.floor(1202 * size + 0.5)
local edge = 1 / columns
domain { min = {-3, 0, -3}, max = {3, 3, 3} }
gravity { 0, -9.8, 0 }
solids { inner = 16, gap = 0.002, domain_friction = 0.3 }
cloth "curtain" {
  width = 1, height = 1.7, columns = columns, rows = rows,
  position = {0, 1.0, 0}, rotation_deg = {90, 0, 0},
  density = 1, model = "edges", stiffness = 4.14 / edge, damping = 15, bend_stiffness = 0.41 / edge, bend_damping = 8,
  thickness = 0.01, friction = 3.2, color = {0.62, 0.10, 0.12},
}
pin "left" { of = "curtain", shape = sphere { center = {-0.5, 1.85, 0}, radius = 0.5 * edge } }
pin "right" { of = "curtain", shape = sphere { center = {0.5, 1.85, 0}, radius = 0.5 * edge } }
-- rests until t = 2, then (0, .5, 1) to 3.5 s, (0, -1.5, 0) to 4 s, then (0, 0, -1.5)
local function path(t)
  local a = math.min(math.max(t - 2, 0), 1.5)
  local b = math.min(math.max(t - 3.5, 0), 0.5)
  local c = math.max(t - 4, 0)
  return {0, 0.3 + 0.5 * a - 1.5 * b + 0.0 * c, -0.5 + a - 1.5 * c}
end
collider "ball" { shape = sphere { center = {0, 0, 0}, radius = 0.25 }, position = path, friction = 0, color = {0.75, 0.72, 0.65} }
render { camera_position = {2.7, 1.5, 3.1}, camera_target = {0, 0.95, 0.1}, box = false }
output { frames = 360, fps = 60 }
