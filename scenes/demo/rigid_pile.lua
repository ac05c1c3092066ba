-- Pile: two hundred boxes, balls, drums and capsules fall into a bin and come to rest.
domain { min = {-2, 0, -2}, max = {2, 9, 2}, open_top = true }

-- a bin: four walls without a lid
local w, h, t = 0.85, 0.9, 0.06
local wall = {0.62, 0.60, 0.56}
collider "wall_left" { shape = box { min = {-w - t, 0, -w - t}, max = {-w, h, w + t} }, color = wall }
collider "wall_right" { shape = box { min = {w, 0, -w - t}, max = {w + t, h, w + t} }, color = wall }
collider "wall_back" { shape = box { min = {-w, 0, -w - t}, max = {w, h, -w} }, color = wall }
collider "wall_front" { shape = box { min = {-w, 0, w}, max = {w, 0.35, w + t} }, color = wall }

local shapes = {
  function() return box { min = {-0.1, -0.1, -0.1}, max = {0.1, 0.1, 0.1} } end,
  function() return sphere { center = {0, 0, 0}, radius = 0.11 } end,
  function() return cylinder { a = {0, -0.1, 0}, b = {0, 0.1, 0}, radius = 0.1 } end,
  function() return capsule { a = {0, -0.1, 0}, b = {0, 0.1, 0}, radius = 0.08 } end,
}
local colors = { {0.88, 0.33, 0.14}, {0.96, 0.74, 0.18}, {0.14, 0.44, 0.66}, {0.30, 0.58, 0.28} }

for i = 0, 199 do
  local kind = i % 4 + 1
  local x, z, y = i % 5 - 2, i // 5 % 5 - 2, i // 25
  body(string.format("b%03d", i)) {
    shape = shapes[kind](),
    density = 800, friction = 0.6, rolling_friction = 0.002,
    position = {0.3 * x + 0.02 * (i % 3), 0.3 + 0.34 * y, 0.3 * z + 0.02 * (i % 7 - 3)},
    rotation_deg = {17 * i, 31 * i, 7 * i},
  }
  look(string.format("b%03d", i)) { color = colors[kind], gloss = 0.5 }
end

output { frames = 180, fps = 60 }
render { camera_position = {1.9, 2.1, 3.3}, camera_target = {0, 0.42, 0.15}, box = false }
