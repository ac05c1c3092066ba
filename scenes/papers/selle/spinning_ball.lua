-- Spinning ball (Selle 2008, Fig. 6.10): 1.8 million triangles fall on a ball; its spin winds them up.
-- size: 0.105 of the cells along each side make 20 thousand triangles.
local size = 1
local cells = math.floor(949 * size + 0.5)
local edge = 1.9 / cells
domain { min = {-2, 0, -2}, max = {2, 2, 2} }
gravity { 0, -9.8, 0 }
solids { inner = 16, gap = 0.002, domain_friction = 0.1 }
cloth "sheet" {
  width = 1.9, height = 1.9, columns = cells, rows = cells, position = {0, 0.56, 0},
  density = 1, model = "edges", stiffness = 4.14 / edge, damping = 15, bend_stiffness = 0.41 / edge, bend_damping = 8,
  thickness = 0.01, friction = 3.2, color = {0.10, 0.28, 0.52},
}
collider "ball" {
  shape = sphere { center = {0, 0, 0}, radius = 0.25 }, friction = 1,
  position = function(t) return {0, 0.30, 0} end,
  rotation_deg = function(t) return {0, -45 * math.max(t - 0.75, 0), 0} end,
  color = {0.75, 0.72, 0.65},
}
render { camera_position = {1.6, 1.3, 1.9}, camera_target = {0, 0.2, 0}, box = false }
output { frames = 480, fps = 60 }
