-- Dominoes: sixty of them on a spiral, the first given a push.
domain { min = {-1.5, 0, -1.5}, max = {1.5, 1, 1.5}, open_top = true }
rigid { domain_friction = 0.6 }

-- equal steps along r = r0 + k phi, each domino across the way
local height, width, thick, step = 0.14, 0.07, 0.02, 0.075
local n = 60
local phi, r = 0, 1.05
for i = 1, n do
  local slope = -0.075  -- of the radius per radian
  local x, z = r * math.cos(phi), r * math.sin(phi)
  -- direction of travel
  local dx, dz = slope * math.cos(phi) - r * math.sin(phi), slope * math.sin(phi) + r * math.cos(phi)
  local turn = math.deg(math.atan(-dz, dx))
  local length = math.sqrt(dx * dx + dz * dz)
  local shade = (i - 1) / (n - 1)
  body(string.format("d%02d", i)) {
    shape = box { min = {-thick / 2, 0, -width / 2}, max = {thick / 2, height, width / 2} },
    position = {x, 0, z}, rotation_deg = {0, turn, 0}, density = 900, friction = 0.4,
    velocity = i == 1 and {0.25 * dx / length, 0, 0.25 * dz / length} or {0, 0, 0},
    angular_velocity = i == 1 and {5 * dz / length, 0, -5 * dx / length} or {0, 0, 0},
  }
  look(string.format("d%02d", i)) { color = {0.92 - 0.80 * shade, 0.36 + 0.12 * shade, 0.14 + 0.48 * shade}, gloss = 0.5 }
  phi = phi + step / length
  r = r + slope * step / length
end

output { frames = 240, fps = 60 }
render { camera_position = {-0.15, 1.0, 2.3}, camera_target = {0.02, -0.02, 0.1}, box = false, sun = {-0.7, 0.55, 0.1} }
