-- Swinging cloth under water (Ozgen 2013, Figs. 3.3, 3.7, 3.9): 61 x 41 nodes, the upper edge led
-- to and fro for 8 s, then still. The author's three states of memory are `window = "steps"`; here
-- it is 1 s, which is what makes bumps that last (see src/methods/deform/fabric.md).
domain { min = {-2, -2, -1}, max = {2, 0.5, 1} }
solids { dt = 1/1920, inner = 16 }
cloth "towel" {
  width = 1.2, height = 0.8, columns = 60, rows = 40, position = {0, -0.4, 0},
  rotation_deg = {90, 0, 0}, density = 0.417, model = "grid", bend_diagonals = true,
  stiffness = 20, shear = 10, bend_stiffness = 0.5, damping = 0, bend_damping = 0,
  self = false, scheme = "symplectic", color = {0.75, 0.30, 0.05},
}
pin "edge" {
  of = "towel", shape = box { min = {-2, -0.005, -1}, max = {2, 0.005, 1} },
  position = function(t) return {0, 0, 0.12 * math.sin(math.pi * math.min(t, 8))} end,
}
immersion "pool" {
  of = "towel", damping = 0.025, damping_shear = 0.0125, damping_bend = 0.000625,
  drag = 0.625, memory_drag = 6.25, memory = 1, samples = 128,
}
output { frames = 270, fps = 30 }
look "towel" { color = {0.93, 0.58, 0.16}, two_sided = true, color_back = {0.20, 0.45, 0.62}, gloss = 0.3 }
-- light from above grazes the cloth and shows its bends
render {
  camera_position = {-2.1, 0.1, 1.2}, camera_target = {0, -0.42, 0}, camera_fov_deg = 27, box = false,
  ground_height = 1.05, sun = {-0.15, 1, 0.45}, sky_strength = 0.8,
}
