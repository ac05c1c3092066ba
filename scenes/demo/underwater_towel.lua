-- A towel under water, its upper edge led to and fro (Ozgen 2013, Fig. 3.3), small: bumps form at
-- the edge and travel down. The water is not simulated; half-derivatives with 1 s of memory stand
-- for it.
domain { min = {-1, -1.5, -1}, max = {1, 0.5, 1} }
solids { dt = 1/960, inner = 8 }
cloth "towel" {
  width = 0.6, height = 0.9, columns = 15, rows = 22, position = {0, -0.45, 0},
  rotation_deg = {90, 0, 0}, density = 0.417, model = "grid", bend_diagonals = true,
  stiffness = 20, shear = 10, bend_stiffness = 0.5, damping = 0, bend_damping = 0,
  self = false, scheme = "symplectic", color = {0.75, 0.30, 0.05},
}
pin "edge" {
  of = "towel", shape = box { min = {-1, -0.01, -1}, max = {1, 0.01, 1} },
  position = function(t) return {0, 0, 0.12 * math.sin(math.pi * t)} end,
}
immersion "pool" {
  of = "towel", damping = 0.05, damping_shear = 0.025, damping_bend = 0.00125,
  drag = 0.625, memory_drag = 6.25, memory = 1, samples = 64,
}
output { frames = 30, fps = 30 }
