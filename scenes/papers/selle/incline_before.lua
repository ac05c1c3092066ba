-- Cloth of 80,000 triangles thrown on a rough incline (Selle 2008, Figs. 6.6-6.8): friction acts before the implicit solve,
-- so it slips, a baseline.
local columns, rows = 153, 261
local edge = 1 / columns
local slope = math.pi / 5
domain { min = {-8, -8, -3}, max = {8, 6, 3}, boundary_x = "open", boundary_y = "open" }
gravity { 0, -9.8, 0 }
solids { inner = 16, turns = true, gap = 0.002, friction = "before" }
cloth "sheet" {
  width = 1.7, height = 1, columns = rows, rows = columns,
  position = {0.25 * math.sin(slope), 0.25 * math.cos(slope), 0}, rotation_deg = {0, 0, -36},
  velocity = {math.cos(slope), -math.sin(slope), 0},
  density = 1, stiffness = 4.14 / edge, damping = 15, bend_stiffness = 0.41 / edge, bend_damping = 8,
  thickness = 0.01, friction = 0.9, color = {0.15, 0.40, 0.30},
}
collider "incline" { shape = box { min = {-4, -0.5, -2}, max = {8, 0, 2} }, rotation_deg = {0, 0, -36}, friction = 0.9, color = {0.55, 0.55, 0.55} }
render { camera_position = {3, 2, 4}, camera_target = {0.8, -0.6, 0}, box = false }
output { frames = 120, fps = 60 }
