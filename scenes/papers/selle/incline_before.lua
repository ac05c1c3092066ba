-- Cloth of 80,000 triangles thrown on a rough incline (Selle 2008, Figs. 6.6-6.8): friction acts before the implicit solve,
-- so it slips, a baseline.
local columns, rows = 153, 261
local edge = 1 / columns
local slope = math.pi / 5
local lean = math.rad(65)  -- above the horizon
domain { min = {-8, -8, -3}, max = {8, 6, 3}, boundary_x = "open", boundary_y = "open" }
gravity { 0, -9.8, 0 }
solids { inner = 16, gap = 0.002, friction = "before" }
cloth "sheet" {
  width = 1.7, height = 1, columns = rows, rows = columns,
  -- it stands on its short edge, leaning down the slope: what touches stops, the rest goes on over it
  position = {0.05 * math.sin(slope) + 0.85 * math.cos(lean), 0.05 * math.cos(slope) + 0.85 * math.sin(lean), 0},
  rotation_deg = {0, 0, math.deg(lean)},
  velocity = {math.cos(slope), -math.sin(slope), 0},
  density = 1, model = "edges", stiffness = 4.14 / edge, damping = 15, bend_stiffness = 0.41 / edge, bend_damping = 8,
  thickness = 0.01, friction = 0.9, color = {0.15, 0.40, 0.30},
}
collider "incline" { shape = box { min = {-4, -0.5, -2}, max = {8, 0, 2} }, rotation_deg = {0, 0, -36}, friction = 0.9, color = {0.55, 0.55, 0.55} }
look "sheet" { color = {0.30, 0.58, 0.42}, two_sided = true, color_back = {0.92, 0.82, 0.55}, gloss = 0.05 }
look "incline" { color = {0.62, 0.60, 0.57}, gloss = 0 }
render { camera_position = {2.2, 0.65, 2.2}, camera_target = {1, -0.62, 0}, box = false }
output { frames = 120, fps = 60 }
