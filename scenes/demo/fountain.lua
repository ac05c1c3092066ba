-- Fountain: five jets whose strength changes with time play into a shallow basin that drains at its rim.
--
-- Finer water:  kelpie run scenes/demo/fountain.lua --set water.spacing=0.01
local spacing = 0.0125

domain { min = {0, 0, 0}, max = {1, 0.9, 1}, open_top = true }

sph { density = "continuity", viscosity_model = "artificial", slip = 1 }

liquid "water" {
  spacing = spacing,
  artificial_viscosity = 0.05,
  sound_speed = 30,                          -- ten times the jets; functions of time are not guessed
  shape = box { min = {0, 0, 0}, max = {1, 0.05, 1} },
}

-- The middle jet swells and sinks, four around it lean inward and take turns.
local middle = 0.5
emitter "middle" {
  into = "water", position = {middle, 0.12, middle}, direction = {0, 1, 0}, radius = 0.022,
  speed = function(t) return 2.9 + 0.4 * math.sin(5 * t) end,
}
for i = 1, 4 do
  local a = math.rad(45 + 90 * i)
  local x, z = math.cos(a), math.sin(a)
  emitter("jet" .. i) {
    into = "water",
    position = {middle + 0.33 * x, 0.12, middle + 0.33 * z},
    direction = {-0.36 * x, 1, -0.36 * z},
    radius = 0.016,
    speed = function(t) return 2.1 + 0.3 * math.sin(5 * t + 1.57 * i) end,
  }
  collider("nozzle" .. i) {
    shape = cylinder { a = {middle + 0.33 * x, 0, middle + 0.33 * z},
                       b = {middle + 0.33 * x, 0.105, middle + 0.33 * z}, radius = 0.03 },
    color = {0.45, 0.33, 0.18},
  }
end
collider "pedestal" {
  shape = cylinder { a = {middle, 0, middle}, b = {middle, 0.105, middle}, radius = 0.045 },
  color = {0.45, 0.33, 0.18},
}

-- Two gutters, left and right, keep the basin shallow.
sink "left"  { shape = box { min = {0, 0.0625, 0}, max = {0.03, 0.9, 1} } }
sink "right" { shape = box { min = {0.97, 0.0625, 0}, max = {1, 0.9, 1} } }

output { frames = 90, fps = 60, surface = { from = "water", field = "anisotropic" } }

render { camera_position = {1.3, 0.75, 1.85}, camera_target = {0.5, 0.2, 0.5}, box = false, background = "sky" }
