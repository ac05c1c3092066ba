-- A solid sphere comes and goes through hanging cloth under water (Ozgen 2013, Figs. 3.4 left, 3.10):
-- the fractional model on the left, normal drag alone on the right. Nodes are pushed away before
-- they are touched.
domain { min = {-3, -2, -1.5}, max = {3, 0.5, 1.5} }
solids { dt = 1/960, inner = 16, avoid = 0.02, avoid_stiffness = 5, avoid_damping = 0.02 }
local function path(t)
  local s = t < 1.2 and 0.5 * (1 - math.cos(math.pi * t / 1.2))
                     or 0.5 * (1 + math.cos(math.pi * math.min((t - 1.2) / 0.8, 1)))
  return {0, 0, s}
end
for k, name in ipairs { "fractional", "normal" } do
  local x = 1.1 * (k - 1.5)
  cloth(name) {
    width = 0.8, height = 1.2, columns = 20, rows = 30, position = {x, -0.6, 0},
    rotation_deg = {90, 0, 0}, density = 0.417, model = "grid", bend_diagonals = true,
    stiffness = 20, shear = 10, bend_stiffness = 0.5, damping = 0, bend_damping = 0,
    drag = k == 2 and 7.7 or 0, self = false, scheme = "symplectic",
    color = k == 1 and {0.75, 0.30, 0.05} or {0.55, 0.06, 0.05},
  }
  pin("edge_" .. name) { of = name, shape = box { min = {-3, -0.005, -1}, max = {3, 0.005, 1} } }
  immersion("pool_" .. name) {
    of = name, order = k == 1 and 0.5 or 1, drag = k == 1 and 0.625 or 0,
    memory_drag = k == 1 and 6.25 or 0, damping = 0.05, damping_shear = 0.025,
    damping_bend = 0.00125, memory = 1, samples = 128,
  }
  collider("ball_" .. name) {
    shape = sphere { center = {x, -0.7, -0.6}, radius = 0.2 }, position = path, friction = 0.1,
    color = {0.75, 0.72, 0.65},
  }
end
look "fractional" { color = {0.95, 0.62, 0.18}, gloss = 0.1 }
look "normal" { color = {0.78, 0.18, 0.16}, gloss = 0.1 }
render { camera_position = {2.3, 0.3, 2.5}, camera_target = {0.1, -0.62, 0.12}, box = false, ground_height = 0.6 }
output { frames = 240, fps = 30 }
