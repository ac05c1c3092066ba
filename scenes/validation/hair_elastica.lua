-- Four hairs of 5 cm, clamped level, of 10, 20, 40 and 80 segments: all droop as the elastica of their modulus and
-- radius, B theta'' = w (l - s) cos theta (Love 1927, section 262).
domain { min = {-0.1, -0.1, -0.1}, max = {0.1, 0.1, 0.1} }
for i, segments in ipairs { 10, 20, 40, 80 } do
  hair("hair" .. segments) {
    count = 1, segments = segments, length = 0.05, root = {-0.025, 0, 0.02 * (i - 2.5)}, direction = {1, 0, 0},
    viscosity = 120, -- near the critical damping of the slowest mode
  }
end
output { frames = 20, fps = 50 }
