-- A flag in gusts.
domain { min = {-0.5, 0, -1.5}, max = {3, 3, 1.5} }
solids { inner = 4 }
cloth "flag" {
  width = 1.5, height = 1, columns = 36, rows = 24, position = {0.75, 2, 0}, rotation_deg = {90, 0, 0},
  density = 0.12, model = "edges", stiffness = 300, damping = 2, bend_stiffness = 1, bend_damping = 2, hinge = 1e-4,
  thickness = 0.008, drag = 0.8, color = {0.65, 0.12, 0.10},
}
pin "mast" { of = "flag", shape = box { min = {-0.01, 1, -0.1}, max = {0.01, 3, 0.1} } }
collider "pole" { shape = cylinder { a = {-0.03, 0, 0}, b = {-0.03, 2.6, 0}, radius = 0.02 }, color = {0.6, 0.6, 0.62} }
wind "gusts" { velocity = function(t) return {9 + 2 * math.sin(1.7 * t), 0.5 * math.sin(3.1 * t), 2 * math.sin(2.3 * t)} end }
look "flag" { color = {0.78, 0.20, 0.16}, two_sided = true, color_back = {0.95, 0.90, 0.76}, gloss = 0.05 }
look "pole" { color = {0.72, 0.73, 0.76}, gloss = 0.6 }
render { camera_position = {1.1, 1.7, 3.4}, camera_target = {0.72, 1.72, 0}, box = false, background = "sky", sun = {-0.5, 0.7, 1} }
output { frames = 72, fps = 24 }
