-- Mixer: a turning paddle stirs light oil that lies on heavy syrup.
--
-- Faster paddle: change `turns`. Finer liquids need both: --set oil.spacing=0.01 --set syrup.spacing=0.01
local spacing = 0.0125
local turns = 1.0                            -- per second
local width = 0.5

domain { min = {0, 0, 0}, max = {width, 0.4, width}, open_top = true }

sph { density = "continuity", viscosity_model = "artificial" }

liquid "syrup" {
  spacing = spacing,
  rest_density = 1000,
  artificial_viscosity = 0.3,
  sound_speed = 16,
  color = {0.60, 0.08, 0.05},
  shape = box { min = {0, 0, 0}, max = {width, 0.10, width} },
}
liquid "oil" {
  spacing = spacing,
  rest_density = 700,                        -- lighter: stays on top until the paddle comes
  artificial_viscosity = 0.2,
  sound_speed = 16,
  color = {0.85, 0.60, 0.08},
  shape = box { min = {0, 0.10, 0}, max = {width, 0.175, width} },
}

-- The paddle turns about its own origin, which position puts into the middle of the tank.
-- It starts slowly: the angle grows with t^2 during the first half second.
local function angle(t)
  if t < 0.5 then return 360 * turns * t * t end
  return 360 * turns * (t - 0.25)
end
collider "paddle" {
  shape = box { min = {-0.18, -0.09, -0.015}, max = {0.18, 0.09, 0.015} },
  position = {width / 2, 0.12, width / 2},
  rotation_deg = function(t) return {0, angle(t), 0} end,
  color = {0.5, 0.52, 0.55},
}
collider "shaft" {
  shape = cylinder { a = {width / 2, 0.2, width / 2}, b = {width / 2, 0.39, width / 2}, radius = 0.02 },
  color = {0.5, 0.52, 0.55},
}

output { frames = 120, fps = 60, surface = { from = "all" } }

look "syrup" { color = {0.72, 0.16, 0.14}, smooth = 0.8, gloss = 0.5 }
look "surface of syrup" { water = false, color = {0.72, 0.16, 0.14}, gloss = 0.6 }
look "surface of oil" { color = {0.95, 0.70, 0.12}, density = 25, refraction = 1.47 }
look "oil" { color = {0.95, 0.76, 0.24}, smooth = 0.8, gloss = 0.5 }
render { camera_position = {0.85, 0.55, 1.2}, camera_target = {0.25, 0.14, 0.25}, box = false, background = "sky" }
