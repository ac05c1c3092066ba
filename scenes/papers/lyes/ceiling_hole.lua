-- Water above an invisible ceiling pours through the hole in it (Lyes 2015, Fig. 7.11 right). 128K
-- particles as in the surface studies.
local spacing = 0.0124
local stiffness = 9.81 * 0.6 / 0.1
local hole, floor, top = 0.09, 0.0, 0.05

domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5}, restitution = 0.5 }
sph { kernel = "mueller", support = 1.74, integrator = "leapfrog", domain_walls = "planes",
      wall = "mirror" }
liquid "water" {
  spacing = spacing, eos = "linear", stiffness = stiffness,
  viscosity = 26 * math.sqrt(stiffness) * 1.74 * spacing,
  shape = box { min = {-0.5, top, -0.5}, max = {0.5, top + 0.25, 0.5} },
}
-- four slabs leave a square open
local slabs = {
  left = { {-0.6, floor, -0.6}, {-hole, top, 0.6} },
  right = { {hole, floor, -0.6}, {0.6, top, 0.6} },
  front = { {-hole, floor, hole}, {hole, top, 0.6} },
  back = { {-hole, floor, -0.6}, {hole, top, -hole} },
}
for _, name in ipairs { "back", "front", "left", "right" } do
  collider("ceiling_" .. name) {
    shape = box { min = slabs[name][1], max = slabs[name][2] }, visible = false,
  }
end

output { frames = 180, fps = 60, surface = { from = "water", field = "anisotropic" } }
render { camera_azimuth_deg = 25, camera_elevation_deg = 8, camera_frame = "domain", camera_zoom = 1.05, background = "sky" }
