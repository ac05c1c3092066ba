-- Equal charges pushed apart; the influence radius is
-- three cells, searched only in the 27 around a charge: the grid shows in the charges.
-- (Lyes 2015, Fig. 6.2; 2^15 charges as in Fig. 6.4).
local n = 32768
local distance = 1 / n ^ (1 / 3)

domain { min = {-1.5, -1.5, -1.5}, max = {1.5, 1.5, 1.5} }
simulation { gravity = {0, 0, 0}, dt = 0.01 }
plasma "charges" {
  particles = n, charges = "equal",
  shape = box { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5} },
  influence = 6 * distance, cell = 2 * distance, search = "near",
  softening = 0.2 * distance, strength = 2 * distance ^ 3, damping = 1,
  container_radius = 1.2, radius = 0.25 * distance,
}

output { frames = 100, fps = 10 }
look "charges" { color = {1, 0.72, 0.35}, smooth = 0, glow = 0.25, radius_scale = 1.6 }
render {
  ground = "none", box = false, background = "dark",
  camera_azimuth_deg = 0, camera_elevation_deg = 0, camera_frame = "domain", camera_zoom = 1.6,
}
