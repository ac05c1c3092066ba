-- Water runs down through a collection of rigid objects (Bayraktar 2010, Fig. 7.10: 60 K particles of
-- water, 120 K of rigid bodies).
local spacing = 0.0105

domain { min = {0, 0, 0}, max = {0.6, 1.3, 0.6}, open_top = true }
sph { wall = "sph", slip = 0.5, domain_walls = "planes" }
liquid "water" {
  spacing = spacing, viscosity = 1.5,
  shape = box { min = {0.05, 0.98, 0.05}, max = {0.55, 1.266, 0.55} },
}

local colors = { {0.62, 0.24, 0.16}, {0.18, 0.38, 0.55}, {0.60, 0.52, 0.22}, {0.30, 0.46, 0.28} }
local sample = 0.00623
local n = 0
local function add(shape)
  n = n + 1
  collider("object" .. n) { shape = shape, spacing = sample, layers = 2, color = colors[(n - 1) % 4 + 1] }
end
-- Four shelves of bars, balls and blocks, each turned against the one above.
for row = 0, 4 do
  local x = 0.06 + 0.12 * row
  add(capsule { a = {x, 0.82, 0.04}, b = {x, 0.82, 0.56}, radius = 0.032 })
  add(capsule { a = {0.04, 0.66, x}, b = {0.56, 0.66, x}, radius = 0.032 })
end
for i = 0, 3 do
  for k = 0, 3 do
    local x, z = 0.09 + 0.14 * i, 0.09 + 0.14 * k
    if (i + k) % 2 == 0 then
      add(sphere { center = {x, 0.47, z}, radius = 0.055 })
    else
      add(box { min = {x - 0.045, 0.42, z - 0.045}, max = {x + 0.045, 0.51, z + 0.045} })
    end
    add(cylinder { a = {x + 0.02, 0.2, z}, b = {x + 0.02, 0.32, z}, radius = 0.04 })
  end
end

output { frames = 240, fps = 60, surface = { from = "water", field = "anisotropic" } }
render { camera_position = {1.7, 0.95, 2.25}, camera_target = {0.3, 0.55, 0.3}, box = false, background = "sky" }
