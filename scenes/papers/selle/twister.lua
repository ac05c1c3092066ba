-- Twisting cloth (Selle 2008, Fig. 6.3): a link turns in the middle of a strip of half a million triangles. Its ends may
-- follow along the strip for three seconds, then they are held. The set-up bends the strip along a parabola around
-- one link; here it is straight between two bars.
local columns, rows = 250, 1000
local edge = 0.3 / columns
domain { min = {-1, 0, -1}, max = {1, 1, 1} }
gravity { 0, -9.8, 0 }
solids { inner = 16, turns = true, gap = 0.002 }
cloth "strip" {
  width = 0.3, height = 1.2, columns = columns, rows = rows, position = {0, 0.5, 0}, rotation_deg = {0, 0, 90},
  density = 1, stiffness = 4.14 / edge, damping = 20, bend_stiffness = 0.41 / edge, bend_damping = 8,
  thickness = 0.01, friction = 3.2, color = {0.60, 0.42, 0.12},
}
for i, z in ipairs {-0.6, 0.6} do
  local held = box { min = {-0.01, 0.3, z - 0.5 * edge}, max = {0.01, 0.7, z + 0.5 * edge} }
  pin("follows-" .. i) { of = "strip", shape = held, free = {0, 0, 1}, stop = 3 }
  pin("stays-" .. i) { of = "strip", shape = held, start = 3 }
end
for i, x in ipairs {-0.03, 0.03} do
  collider("bar-" .. i) {
    shape = capsule { a = {x, 0.25, 0}, b = {x, 0.75, 0}, radius = 0.02 }, friction = 0.3,
    rotation_deg = function(t) return {0, -45 * t, 0} end, color = {0.6, 0.6, 0.62},
  }
end
render { camera_position = {1.2, 0.9, 0.9}, camera_target = {0, 0.45, 0}, box = false }
output { frames = 480, fps = 60 }
