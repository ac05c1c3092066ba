-- Selle 2008, Fig. 7.5: curly hairs of four stiffnesses are dropped.
domain { min = {-0.4, -1.2, -0.4}, max = {0.4, 0.2, 0.4} }
simulation { dt_max = 1/60 }
solids { dt = 1/1200, inner = 5 }
for k = 0, 3 do
  local stiff = 0.2 * 0.25 ^ k
  hair ("curl" .. k) {
    count = 1, segments = 100, length = 1, root = {-0.24 + 0.16 * k, 0, 0}, direction = {0, -1, 0},
    curl_radius = 0.008, curl_pitch = 0.0327, density = 1e-5, edge_stiffness = 1,
    bend_stiffness = stiff, torsion_stiffness = stiff, altitude_stiffness = stiff, damping = 0.3, radius = 0.002,
  }
end
for k = 0, 3 do look ("curl" .. k) { color = {0.72, 0.42 - 0.06 * k, 0.18}, radius_scale = 1.4, gloss = 0.6 } end
render {
  camera_position = {0.25, -0.25, 1.2}, camera_target = {0, -0.31, 0}, box = false,
  ground_height = 0.5, sun = {-0.7, 0.8, 0.6}, sky_strength = 0.8,
}
output { frames = 72, fps = 24 }
