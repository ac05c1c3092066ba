-- A long skirt on a figure that walks (Ozgen 2013, Figs. 6.4, 6.6, 6.7): a tube of cloth held at the
-- waist, springs far too soft to carry it, and what keeps its edges from stretching:
--   "none", "list" (one ordered list from the waist, and a pass over the edges it leaves out), "maps"
--   (three lists: none, right or left knee forward, by the step), "events" (the same, by what the
--   cloth touches), "provot" (passes over all edges).
local figure = require("parts.figure")

return function(limits, columns, rows)
  columns, rows = columns or 72, rows or 48
  -- seen from beside her: the figure stays and the air with it, which Verlet damps the cloth against
  local rate, speed = 0.9, 0
  local pose = figure.walk(speed, rate)
  local start = pose(0).hip
  local waist, length = start[2] + 0.12, 0.72
  domain { min = {-2, 0, -2}, max = {2, 2.2, 2} }
  solids { dt = 1/600, inner = 5, gap = 0.004 }
  figure.make(pose)
  cloth "skirt" {
    tube = true, width = 0.88, flare = 2.5, height = length, columns = columns, rows = rows,
    position = {0, waist - 0.5 * length, 0}, rotation_deg = {90, 0, 0},
    density = 0.2, model = "grid", bend_diagonals = true, stiffness = 2, shear = 2,
    bend_stiffness = 0.2, damping = 0.1, bend_damping = 0.1, viscosity = 5,
    thickness = 0.004, friction = 0.3, scheme = "position_verlet", color = {0.45, 0.05, 0.08},
  }
  pin "waistband" {
    of = "skirt", shape = box { min = {-1, waist - 0.004, -1}, max = {1, waist + 0.004, 1} },
    position = function(t)
      local h = pose(t).hip
      return { 0, h[2] - start[2], h[3] - start[3] }
    end,
  }
  local knee = start[2] - 0.5 * figure.thigh  -- what a thigh that goes forward carries
  local function cap(side)
    return box { min = {side > 0 and 0.02 or -0.14, knee - 0.03, 0.1},
                 max = {side > 0 and 0.14 or -0.02, knee + 0.03, 0.5} }
  end
  local bend = start[2] - figure.thigh  -- what a leg touches first, in front or behind
  local function calf(side)
    return box { min = {side > 0 and 0.02 or -0.3, bend - 0.12, -0.6},
                 max = {side > 0 and 0.3 or -0.02, bend + 0.04, 0.6} }
  end
  if limits == "provot" then
    limit "passes" { of = "skirt", method = "provot", passes = 5 }
  elseif limits ~= "none" then
    limit "hanging" { of = "skirt", when = 0, seams = 1, fastest = limits == "list" and 0 or 1 }
  end
  if limits == "maps" or limits == "events" then
    for side, word in pairs { [1] = "right", [-1] = "left" } do
      limit(word .. "_knee") {
        of = "skirt", shape = limits == "events" and calf(side) or cap(side), slides = true,
        seams = 1, fastest = 1, touched = limits == "events" and 0.05 or 0, patience = 20,
        when = limits == "events" and 1 or function(t) return pose(t)[word].thigh - 12 end,
      }
    end
  end
  look "skirt" { color = {0.72, 0.12, 0.20}, gloss = 0.1 }
  render { camera_position = {2.15, 1.2, 2.6}, camera_target = {0, 0.83, 0.03}, box = false }
  output { frames = 120, fps = 30 }
end
