-- A towel under water that is not simulated.
domain { min = {-1, -1.5, -1}, max = {1, 0.5, 1} }
solids { dt = 1 / 960, inner = 8 }
cloth "towel" { width = 0.6, height = 0.6, columns = 8, rows = 8, position = {0, -0.3, 0}, rotation_deg = {90, 0, 0}, velocity = {0.5, 0.3, 0.5},
  density = 0.417, model = "grid", stiffness = 20, shear = 10, bend_stiffness = 0.5, damping = 0, self = false, scheme = "symplectic" }
pin "edge" { of = "towel", shape = box { min = {-1, -0.01, -1}, max = {1, 0.01, 1} }, position = function(t) return {0, 0, 0.5 * math.sin(9 * t)} end }
immersion "pool" { of = "towel", damping = 0.05, damping_shear = 0.025, damping_bend = 0.00125, drag = 0.625, memory_drag = 6.25,
  memory = 0.1, samples = 16, current = {0.3, 0, 0} }
output { frames = 1 }
