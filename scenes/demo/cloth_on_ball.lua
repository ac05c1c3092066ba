-- A sheet falls on a ball that turns; friction winds it up.
domain { min = {-1.5, 0, -1.5}, max = {1.5, 2, 1.5} }
solids { inner = 4, gap = 0.006, domain_friction = 0.2 }
cloth "sheet" {
  width = 1.6, height = 1.6, columns = 40, rows = 40, position = {0, 0.75, 0},
  density = 0.3, model = "edges", stiffness = 400, damping = 2, thickness = 0.008, friction = 0.4, color = {0.12, 0.28, 0.50},
  -- springs across edges hardly resist a small bend, so bumps of the mesh's size cost nothing; the angle at edges does
  bend_stiffness = 2, bend_damping = 2, hinge = 4e-4,
}
collider "ball" {
  shape = sphere { center = {0, 0, 0}, radius = 0.3 }, friction = 0.8,
  position = {0, 0.35, 0}, rotation_deg = function(t) return {0, -90 * math.max(t - 1, 0), 0} end,
  color = {0.75, 0.72, 0.65},
}
look "sheet" { color = {0.36, 0.55, 0.72}, two_sided = true, color_back = {0.90, 0.78, 0.52}, gloss = 0.05 }
render { camera_position = {1.15, 1.05, 1.75}, camera_target = {0, 0.26, 0}, box = false }
output { frames = 72, fps = 24 }
