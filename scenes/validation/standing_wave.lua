-- A standing wave of one wave length in a tank, from the flat surface on: its potential flow sets it going.
-- The gauge at the left wall swings as a sin(omega t), omega^2 = g k tanh(k h) (Lamb 1932, section 228).
-- Try --set water.method=flip, level_set, sph.
local length, depth, height = 1.0, 0.25, 0.02
local k = 2 * math.pi / length
local omega = math.sqrt(9.81 * k * (math.exp(2 * k * depth) - 1) / (math.exp(2 * k * depth) + 1))

local function sinh(x) return (math.exp(x) - math.exp(-x)) / 2 end
local function cosh(x) return (math.exp(x) + math.exp(-x)) / 2 end

domain { dimension = 2, min = {0, 0, 0}, max = {length, 0.4, 1} }
gravity { 0, -9.81, 0 }

liquid "water" {
  method = "flip",
  spacing = 0.01,
  viscosity = 0.001,
  shape = box { min = {0, 0, -1}, max = {length, depth, 1} },
  velocity = function(x, y, z)
    local rate = height * omega / sinh(k * depth)
    return {-rate * cosh(k * y) * math.sin(k * x), rate * sinh(k * y) * math.cos(k * x), 0}
  end,
}

probe "gauge" { of = "water", kind = "gauge", min = {0.005, 0, 0}, max = {0.005, 0, 0}, interval = 0.02 }

output { frames = 60, fps = 25 }
