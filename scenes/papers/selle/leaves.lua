-- Cloth leaves (Selle 2008, Fig. 6.9): a hundred pieces of ten thousand triangles fall into a wind that is strong near
-- the ground.
-- size: 0.141 of the cells along each side make 20 thousand triangles.
local size = 1
local cells = math.floor(71 * size + 0.5)
local edge = 1 / cells
domain { min = {-6, 2, -6}, max = {6, 22, 6} }
gravity { 0, -9.8, 0 }
solids { inner = 16, gap = 0.002, domain_friction = 0.3 }
-- numbers that look random and are the same everywhere
local function any(i, k) local s = math.sin(12.9898 * i + 78.233 * k) * 43758.5453 return s - math.floor(s) end
local colors = { {0.62, 0.30, 0.06}, {0.70, 0.48, 0.10}, {0.48, 0.12, 0.06}, {0.36, 0.40, 0.10} }
local n = 0
for layer = 0, 3 do
  for row = 0, 4 do
    for column = 0, 4 do
      n = n + 1
      cloth(string.format("leaf-%03d", n)) {
        width = 1, height = 1, columns = cells, rows = cells,
        position = {1.6 * (column - 2), 12 + 1.9 * layer, 1.6 * (row - 2)},
        rotation_deg = {120 * any(n, 1) - 60, 120 * any(n, 2) - 60, 120 * any(n, 3) - 60},
        density = 1, model = "edges", stiffness = 4.14 / edge, damping = 15, bend_stiffness = 0.41 / edge, bend_damping = 8,
        thickness = 0.01, friction = 3.2, drag = 17, color = colors[n % 4 + 1],
      }
    end
  end
end
wind "updraught" { velocity = {0, 1, 0}, inward = 0.2, from = 4, ["until"] = 3 }
render { camera_position = {11, 8, 13}, camera_target = {0, 6, 0}, box = false }
output { frames = 600, fps = 60 }
