-- Twisting cloth (Selle 2008, Fig. 6.3): a strip of half a million triangles, bent along y = 6 x^2 (1.5 x^2, scaled by
-- 0.25), hangs from its corners around a thin link, which turns about the vertical by an eighth of a turn per second. The
-- corners may move across the strip for three seconds, then they are held.
-- size: 0.2 of the cells along each side make 20 thousand triangles.
local size = 1
local columns, rows = math.floor(250 * size + 0.5), math.floor(1000 * size + 0.5)
local edge = 0.3 / columns
local across, top = 0.15, 0.49817  -- half the width; y = 6 x^2 at the end of 0.6 m
local far = math.sqrt(top / 6)
local radius = 0.0125
domain { min = {-1, -0.5, -1}, max = {1, 1, 1} }
gravity { 0, -9.8, 0 }
solids { inner = 16, gap = 0.002 }
cloth "strip" {
  width = 2 * across, height = 1.2, columns = columns, rows = rows, parabola = 6, rotation_deg = {0, 90, 0},
  density = 1, model = "edges", stiffness = 4.14 / edge, damping = 20, bend_stiffness = 0.41 / edge, bend_damping = 8,
  thickness = 0.01, friction = 3.2, color = {0.60, 0.42, 0.12},
}
for i, x in ipairs {-far, far} do
  for j, z in ipairs {-across, across} do
    local corner = box { min = {x - edge, top - edge, z - edge}, max = {x + edge, top + edge, z + edge} }
    local name = i .. "-" .. j
    pin("follows-" .. name) { of = "strip", shape = corner, free = {0, 0, 1}, stop = 3 }
    pin("stays-" .. name) { of = "strip", shape = corner, start = 3 }
  end
end
collider "link" {
  shape = capsule { a = {0, 0, -0.25}, b = {0, 0, 0.25}, radius = radius }, friction = 0.3,
  position = {0, radius + 0.004, 0}, rotation_deg = function(t) return {0, -45 * t, 0} end,
}
render { camera_position = {0.72, 0.47, 0.88}, camera_target = {0, 0.22, 0}, box = false }
output { frames = 480, fps = 60 }
