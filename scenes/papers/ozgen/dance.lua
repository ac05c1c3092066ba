-- A dance under water (Ozgen 2013, Figs. 3.1, 3.2, 3.11): a figure turns and lifts its legs in a wide
-- skirt of fractional cloth; the water is remembered for one second.
local figure = require("parts.figure")
local smooth = figure.smooth
local function pose(t)
  local w = 2 * math.pi * 0.25
  local on = smooth(t, 0.3, 1.5)
  local lift = on * math.max(0, math.sin(w * t))
  local other = on * math.max(0, -math.sin(w * t))
  local function leg(s, arm)
    return { thigh = 50 * s * s, knee = 70 * s * s, arm = arm, elbow = 20 }
  end
  return {
    right = leg(lift, 40 + 60 * on * (0.5 + 0.5 * math.sin(w * t))),
    left = leg(other, 40 + 60 * on * (0.5 - 0.5 * math.sin(w * t))),
    hip = { 0.12 * on * math.sin(w * t), 0.93, 0 },
    turn = 70 * on * math.sin(0.5 * w * t),
  }
end
local start = pose(0)
local waist, length = start.hip[2] + 0.12, 0.7
domain { min = {-2, 0, -2}, max = {2, 2.4, 2} }
solids { dt = 1/960, inner = 8, gap = 0.003, avoid = 0.01, avoid_stiffness = 0.5, avoid_damping = 0.01 }
figure.make(pose)
cloth "skirt" {
  tube = true, width = 0.88, flare = 3, height = length, columns = 60, rows = 36,
  position = {0, waist - 0.5 * length, 0}, rotation_deg = {90, 0, 0},
  density = 0.35, model = "grid", bend_diagonals = true, stiffness = 20, shear = 10,
  bend_stiffness = 0.5, damping = 0, bend_damping = 0, thickness = 0.004, friction = 0.2,
  scheme = "symplectic", color = {0.60, 0.16, 0.03},
}
pin "waistband" {
  of = "skirt", shape = box { min = {-1, waist - 0.004, -1}, max = {1, waist + 0.004, 1} },
  position = function(t) local h = pose(t).hip return { h[1], h[2] - start.hip[2], h[3] } end,
  rotation_deg = function(t) return {0, pose(t).turn, 0} end,
}
immersion "water" {
  of = "skirt", damping = 0.05, damping_shear = 0.025, damping_bend = 0.00125,
  drag = 0.625, memory_drag = 6.25, memory = 1, samples = 128,
}
look "skirt" { color = {0.86, 0.40, 0.12}, two_sided = true, color_back = {0.62, 0.20, 0.08}, gloss = 0.1 }
render { camera_position = {1.75, 1.2, 2.95}, camera_target = {0, 0.84, 0}, box = false }
output { frames = 240, fps = 30 }
