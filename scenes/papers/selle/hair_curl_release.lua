-- Selle 2008, Fig. 7.5: a curly hair is drawn down by half its length and let go; it springs back.
domain { min = {-0.4, -1.2, -0.4}, max = {0.4, 0.2, 0.4} }
simulation { dt_max = 1/60 }
solids { dt = 1/1200, inner = 5 }
hair "curl" {
  count = 1, segments = 100, length = 1, root = {0, 0, 0}, direction = {0, -1, 0},
  -- 60 degrees per segment
  curl_radius = 0.008, curl_pitch = 0.0327, density = 1e-5,
  edge_stiffness = 1, bend_stiffness = 0.05, torsion_stiffness = 0.05, altitude_stiffness = 0.05, damping = 0.3,
  radius = 0.002,
}
pin "tip" { of = "curl", shape = box { min = {-0.1, -0.6, -0.1}, max = {0.1, -0.525, 0.1} },
  position = function(t) return {0, t < 2 and 0 or t > 4 and -0.3 or -0.15 * (t - 2), 0} end, stop = 4 }
render { camera_position = {0, -0.4, 1.8}, camera_target = {0, -0.4, 0}, box = false }
output { frames = 192, fps = 24 }
