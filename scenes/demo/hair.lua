-- A head with long hair turns and nods. Hairs bend, twist and curl, do not stretch, and stick to each
-- other where they touch.
domain { min = {-0.35, -0.45, -0.35}, max = {0.35, 0.35, 0.35} }
simulation { dt_max = 1/60 }
solids { dt = 1/300, inner = 4, tolerance = 0.01 }

local function smooth(t) return t < 0 and 0 or t > 1 and 1 or t * t * (3 - 2 * t) end
collider "head" {
  shape = mesh { file = "meshes/head.obj" }, spacing = 0.02,
  rotation_deg = function(t)
    return {8 * math.sin(5 * t) * smooth(t), 40 * math.sin(8 * t) * smooth(2 * t), 0}
  end,
  color = {0.62, 0.42, 0.33},
}
hair "locks" {
  on = "head",
  -- crown, sides and back of the skull
  scalp = sphere { center = {0, 0.07, -0.045}, radius = 0.112 }, fade = 0.015,
  count = 2400, segments = 14, length = 0.22,
  edge_stiffness = 0.1, bend_stiffness = 1e-3, torsion_stiffness = 1e-3, altitude_stiffness = 1e-3,
  fall = {0, -1, -0.15}, droop = 0.012, lift = 0.005, roughness = 0.2,
  wave = 0.003, wave_length = 0.07,
  stiction = 1e-3, stiction_distance = 0.003, stiction_break = 0.008, stiction_links = 2,
  radius = 2.2e-4, color = {0.10, 0.042, 0.018},
}
render { camera_position = {0.54, 0.14, 0.37}, camera_target = {0, -0.04, 0}, sun = {0.75, 0.65, 0.3}, box = false }
output { frames = 48, fps = 24 }
