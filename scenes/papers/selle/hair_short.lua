-- Selle 2008, Fig. 7.9, table 7.2: short straight hair on a head that circles, 10 000 hairs of 25 segments.
domain { min = {-0.6, -0.7, -0.6}, max = {0.6, 0.5, 0.6} }
simulation { dt_max = 1/60 }
solids { dt = 6e-4, inner = 8, tolerance = 0.05 }
collider "head" {
  shape = mesh { file = "meshes/head.obj" },
  position = function(t)
    local s = t > 1 and 1 or t
    return {0.06 * s * math.sin(4 * t), 0, 0.06 * s * math.cos(4 * t)}
  end,
  color = {0.62, 0.42, 0.33},
}
collider "shoulders" { shape = capsule { a = {-0.15, -0.3, -0.04}, b = {0.15, -0.3, -0.04}, radius = 0.08 }, color = {0.2, 0.22, 0.28} }
hair "locks" {
  on = "head", scalp = sphere { center = {0, 0.065, -0.055}, radius = 0.112 }, fade = 0.015,
  edge_stiffness = 0.1, bend_stiffness = 1e-3, torsion_stiffness = 1e-3, altitude_stiffness = 1e-3,
  count = 10000, segments = 25, straight_deg = 180, length = 0.12, fall = {0, -1, -0.3}, droop = 0.03, lift = 0.003,
  roughness = 0.2, self = true, thickness = 0.0005, friction = 0.4,
  stiction = 1e-3, stiction_distance = 0.002, stiction_break = 0.005, stiction_links = 5,
  radius = 1.2e-4, color = {0.14, 0.06, 0.02},
}
render { camera_position = {0.55, 0.1, 0.85}, camera_target = {0, -0.07, 0}, box = false }
output { frames = 96, fps = 24 }
