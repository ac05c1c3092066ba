-- Positive and negative charges in a bounding sphere: unlike ones fall together, like ones part.
local n = 3000
local distance = 0.8 / n ^ (1 / 3)

domain { min = {-0.8, -0.8, -0.8}, max = {0.8, 0.8, 0.8} }
simulation { gravity = {0, 0, 0} }
plasma "charges" {
  particles = n, shape = sphere { center = {0, 0, 0}, radius = 0.5 },
  influence = 3 * distance, strength = 0.05 * distance ^ 3,
  container_radius = 0.7, radius = 0.3 * distance,
}

output { frames = 60, fps = 10 }
look "charges" { color_by = "charge", color_map = "diverge", range_min = -1, range_max = 1, smooth = 0 }
render { ground = "none", box = false, background = "dark", camera_frame = "domain", camera_zoom = 1.6 }
