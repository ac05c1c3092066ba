-- Four cloths side by side under water (Ozgen 2013, Fig. 3.12): viscous and normal drag, viscous
-- drag, normal drag with damped springs, and the fractional one. All float and sink alike; strengths
-- of the regular ones are those of equal steady drag (S = 1.128 for 1 s of memory).
domain { min = {-3, -2, -1}, max = {3, 0.5, 1} }
solids { dt = 1/960, inner = 16 }
local models = {
  { "a_viscous_normal", 4.0, 4.0, 1 },
  { "b_viscous", 7.7, 0, 1 },
  { "c_normal", 0, 7.7, 1 },
  { "d_fractional", 0.625, 0, 0.5 },
}
for k, m in ipairs(models) do
  local x = 1.1 * (k - 2.5)
  cloth(m[1]) {
    width = 0.8, height = 1.2, columns = 20, rows = 30, position = {x, -0.6, 0},
    rotation_deg = {90, 0, 0}, density = 0.417, model = "grid", bend_diagonals = true,
    stiffness = 20, shear = 10, bend_stiffness = 0.5, damping = 0, bend_damping = 0,
    drag = m[3], self = false, scheme = "symplectic",
    color = { 0.75, 0.1 + 0.15 * k, 0.05 },
  }
  pin("edge_" .. m[1]) {
    of = m[1], shape = box { min = {-3, -0.005, -1}, max = {3, 0.005, 1} },
    position = function(t) return {0, 0, 0.12 * math.sin(math.pi * t)} end,
  }
  local frac = m[4] < 1
  immersion("pool_" .. m[1]) {
    of = m[1], order = m[4], drag = m[2], memory_drag = frac and 6.25 or 0,
    damping = 0.05, damping_shear = 0.025, damping_bend = 0.00125, memory = 1, samples = 128,
  }
end
output { frames = 240, fps = 30 }
look "a_viscous_normal" { color = {0.85, 0.36, 0.25}, gloss = 0.3 }
look "b_viscous" { color = {0.93, 0.66, 0.25}, gloss = 0.3 }
look "c_normal" { color = {0.40, 0.66, 0.42}, gloss = 0.3 }
look "d_fractional" { color = {0.27, 0.53, 0.78}, gloss = 0.3 }
-- seen along the row, so that the bend of each shows; light from above grazes them
render {
  camera_position = {7.2, 0.7, 5.0}, camera_target = {-0.05, -0.62, 0}, camera_fov_deg = 15, box = false,
  ground_height = 0.65, sun = {0.15, 1, 0.4}, sky_strength = 0.8,
}
