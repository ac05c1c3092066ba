-- A square of cloth held at two corners swings down. Two seconds in, one corner is let go.
domain { min = {-1, -1.5, -1}, max = {1, 1, 1} }
simulation { dt_max = 1/60 }
cloth "sheet" {
  width = 1, height = 1, columns = 30, rows = 30,
  position = {0, 0.5, 0},
  density = 0.3, model = "edges", stiffness = 1000, bend_stiffness = 10,
  color = {0.55, 0.10, 0.12},
}
pin "left" { of = "sheet", shape = sphere { center = {-0.5, 0.5, -0.5}, radius = 0.02 } }
pin "right" { of = "sheet", shape = sphere { center = {0.5, 0.5, -0.5}, radius = 0.02 }, stop = 2 }
output { frames = 90, fps = 30 }
