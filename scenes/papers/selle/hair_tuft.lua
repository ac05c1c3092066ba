-- Selle 2008, Fig. 7.6: a tuft on a shaken head, (c): with stiction and collisions of hair with hair.
domain { min = {-0.6, -0.7, -0.6}, max = {0.6, 0.5, 0.6} }
simulation { dt_max = 1/60 }
solids { dt = 6e-4, inner = 8 }
collider "head" {
  shape = mesh { file = "meshes/head.obj" },
  -- 3 Hz, 10 cm, after half a second
  position = function(t)
    local s = t < 0.5 and 0 or t > 1 and 1 or 2 * (t - 0.5)
    return {0.05 * s * math.sin(6 * math.pi * t), 0, 0}
  end,
  color = {0.62, 0.42, 0.33},
}
hair "tuft" {
  on = "head", scalp = sphere { center = {0, 0.105, -0.05}, radius = 0.03 },
  edge_stiffness = 0.1, bend_stiffness = 1e-3, torsion_stiffness = 1e-3, altitude_stiffness = 1e-3,
  count = 200, segments = 30, length = 0.3, fall = {0, -1, -0.4}, droop = 0.03, lift = 0.004, roughness = 0.2,
  limit = "biased", self = true, thickness = 0.001,
  stiction = 1e-3, stiction_distance = 0.003, stiction_break = 0.008, stiction_links = 3,
  radius = 3e-4, color = {0.14, 0.06, 0.02},
}
render { camera_position = {0.75, 0.1, -0.55}, camera_target = {0, -0.05, 0}, box = false }
output { frames = 60, fps = 24 }
