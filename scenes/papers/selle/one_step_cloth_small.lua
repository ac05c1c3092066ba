-- The lively twin of one_step_cloth.lua (Fig. 5.5): a sheet held at two corners with the same springs and
-- 40 steps per frame of Newmark's variant.
domain { min = {-1, -1.6, -1}, max = {1, 0.6, 1} }
simulation { dt_max = 1/24 }
solids { dt = 1/960, inner = 8 }
cloth "sheet" {
  width = 1, height = 1, columns = 40, rows = 40, density = 0.3,
  model = "edges", stiffness = 1000, damping = 15, bend_stiffness = 10, bend_damping = 8,
  scheme = "newmark", self = false, color = {0.12, 0.25, 0.55},
}
pin "left" { of = "sheet", shape = sphere { center = {-0.5, 0, -0.5}, radius = 0.01 } }
pin "right" { of = "sheet", shape = sphere { center = {0.5, 0, -0.5}, radius = 0.01 } }
output { frames = 72, fps = 24 }
