-- Wrecking ball: a ball on a rope, scripted as a pendulum, knocks down a wall of bricks.
domain { min = {-4, 0, -4}, max = {4, 6, 4}, open_top = true }

local length, height, deep = 0.4, 0.2, 0.2
for row = 0, 9 do
  local shift = row % 2 == 0 and 0 or length / 2
  for k = -4, row % 2 == 0 and 4 or 3 do
    local x = k * length + shift
    local red = 0.55 + 0.06 * ((7 * row + 3 * k) % 4)
    body(string.format("brick_%d_%d", row, k + 4)) {
      shape = box { min = {-length / 2, 0, -deep / 2}, max = {length / 2, height, deep / 2} },
      position = {x, row * height, 0}, density = 1800, friction = 0.6, color = {red, 0.24, 0.16},
    }
  end
end

-- let go at 60 degrees: swings once, slows down where it meets the wall no more than a heavy ball would
local rope, hook = 3.6, {0, 4.6, 0}
local function place(t)
  local angle = -1.05 * math.cos(math.sqrt(9.81 / rope) * t)
  return {hook[1], hook[2] - rope * math.cos(angle), hook[3] + rope * math.sin(angle)}
end
collider "ball" { shape = sphere { center = {0, 0, 0}, radius = 0.35 }, position = place, friction = 0.3, color = {0.12, 0.12, 0.13} }

output { frames = 150, fps = 60 }
look "ball" { color = {0.20, 0.20, 0.22}, gloss = 0.7 }
render { camera_position = {3.6, 1.5, 5.0}, camera_target = {0.05, 1.0, 0.3}, box = false, background = "sky", sun = {-0.5, 0.7, 0.5} }
