-- As many positive as negative charges in a bounding sphere (Lyes 2015, section 6.3; 2^15 charges as
-- in Fig. 6.4): unlike ones fall together, like ones part.
local n = 32768
local distance = 1 / n ^ (1 / 3)

domain { min = {-1.5, -1.5, -1.5}, max = {1.5, 1.5, 1.5} }
simulation { gravity = {0, 0, 0} }
plasma "charges" {
  particles = n,
  shape = sphere { center = {0, 0, 0}, radius = 0.6 },
  influence = 3 * distance, strength = 0.05 * distance ^ 3,
  container_radius = 1.2, radius = 0.25 * distance,
}

output { frames = 100, fps = 10 }
look "charges" { color_by = "charge", color_map = "diverge", range_min = -1, range_max = 1, smooth = 0, gloss = 0.6 }
render { ground = "none", box = false, background = "dark", exposure = 0.6, camera_frame = "domain", camera_zoom = 3.4 }
