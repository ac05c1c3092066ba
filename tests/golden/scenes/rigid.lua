-- Bodies of every shape that meet each other, a slope and a turning arm.
domain { min = {-1, 0, -1}, max = {1, 2, 1}, open_top = true }
rigid { domain_friction = 0.6, domain_restitution = 0.2 }
collider "slope" { shape = plane { point = {0, 0.05, 0}, normal = {0.3, 1, 0.1} } }
collider "arm" { shape = box { min = {-0.5, -0.03, -0.03}, max = {0.5, 0.03, 0.03} }, position = {0, 0.12, 0},
  rotation_deg = function(t) return {0, 200 * t, 0} end }
local shapes = {
  function() return box { min = {-0.1, -0.1, -0.1}, max = {0.1, 0.1, 0.1} } end,
  function() return sphere { center = {0, 0, 0}, radius = 0.11 } end,
  function() return cylinder { a = {0, -0.1, 0}, b = {0, 0.1, 0}, radius = 0.1 } end,
  function() return capsule { a = {0, -0.1, 0}, b = {0, 0.1, 0}, radius = 0.08 } end,
}
for i = 0, 15 do
  body(string.format("b%02d", i)) {
    shape = shapes[i % 4 + 1](), density = 500 + 100 * i, friction = 0.4, restitution = 0.3, rolling_friction = 0.002,
    position = {0.19 * (i % 4) - 0.3, 0.25 + 0.2 * (i // 8), 0.2 * (i // 4 % 2)}, rotation_deg = {17 * i, 31 * i, 7 * i},
    velocity = {0.3 - 0.05 * i, -2, 0.1}, angular_velocity = {0, 3, i},
  }
end
body "bowl" { shape = mesh { file = "bowl.obj", shell = 0.02 }, position = {0.3, 0.7, 0.1}, velocity = {0, -3, 0}, density = 800 }
output { frames = 1 }
