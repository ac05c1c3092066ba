-- Selle 2008, Fig. 7.5: from straight to tightly curled.
domain { min = {-0.4, -1.2, -0.4}, max = {0.4, 0.2, 0.4} }
simulation { dt_max = 1/60 }
solids { dt = 1/1200, inner = 5 }
for k = 0, 5 do
  hair ("hair" .. k) {
    count = 1, segments = 100, length = 1, root = {-0.3 + 0.12 * k, 0, 0}, direction = {0, -1, 0},
    curl_radius = 0.005 * k, curl_pitch = 0.06, density = 1e-5, edge_stiffness = 1,
    bend_stiffness = 0.1, torsion_stiffness = 0.1, altitude_stiffness = 0.1, damping = 0.3, radius = 0.002,
  }
end
for k = 0, 5 do look("hair" .. k) { color = {0.70, 0.36, 0.10}, radius_scale = 1.8 } end
render { camera_position = {0.25, -0.4, 2.0}, camera_target = {0, -0.48, 0}, box = false, ground_height = 0.1 }
output { frames = 48, fps = 24 }
