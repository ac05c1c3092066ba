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
-- a tall picture: one turn of the curl is as wide as two hundredths of its length
look "curl" { color = {0.72, 0.42, 0.18}, radius_scale = 1.6, gloss = 0.6 }
render {
  width = 540, height = 960, camera_position = {0.55, -0.2, 1.95}, camera_target = {0.02, -0.36, 0}, box = false,
  ground_height = 0.28, sun = {-0.7, 0.8, 0.6}, sky_strength = 0.8,
}
output { frames = 192, fps = 24 }
