-- A top on its tip: two cones base to base (parts/top.obj, 5 cm high), 300 rad/s about an axis that leans by 20 degrees.
-- It is sent off in steady precession: the axis keeps its tilt and goes round at the rate p of
--   I1 cos(tilt) p^2 - I3 w p + m g l = 0, moments about the tip (Goldstein, section 5.7).
local tilt, spin, density = math.rad(20), 300, 500
local radius, lower, upper = 0.03, 0.04, 0.01
local m1, m2 = density * math.pi * radius ^ 2 * lower / 3, density * math.pi * radius ^ 2 * upper / 3
local y1, y2 = 0.75 * lower, lower + 0.25 * upper
local mass, arm = m1 + m2, (m1 * y1 + m2 * y2) / (m1 + m2)
local i3 = 0.3 * (m1 + m2) * radius ^ 2
local i1 = m1 * (0.15 * radius ^ 2 + 0.6 * lower ^ 2) + m2 * (0.15 * radius ^ 2 + 0.0375 * upper ^ 2 + y2 ^ 2)
local a, b, c = i1 * math.cos(tilt), i3 * spin, mass * 9.81 * arm
local p = 2 * c / (b + math.sqrt(b * b - 4 * a * c))
-- the axis leans to -x; what turns besides the spin is p about y, less its part along the axis
local ax, ay = -math.sin(tilt), math.cos(tilt)
local wx, wy = -p * ay * ax, p - p * ay * ay

domain { min = {-0.5, 0, -0.5}, max = {0.5, 0.5, 0.5} }
rigid { domain_friction = 1 }
body "top" {
  shape = mesh { file = "parts/top.obj" }, density = density, friction = 1, rotation_deg = {0, 0, 20},
  -- v = w x r
  velocity = {0, 0, arm * (wx * ay - wy * ax)},
  angular_velocity = {wx + spin * ax, wy + spin * ay, 0},
}
probe "gyration" { of = "top", kind = "track", interval = 1 / 60 }
output { frames = 60, fps = 30 }
