-- Two liquids of different rest density stirred by a turning disk with paddles
-- (Bayraktar 2010, Fig. 7.5: 50 K particles of liquid in all, 150 K of walls).
local spacing = 0.01122
local width = 0.6
local turns = 1.8                            -- per second

domain {
  min = {-0.05, -0.05, -0.05}, max = {width + 0.05, 0.62, width + 0.05},
  boundary_x = "open", boundary_y = "open", boundary_z = "open",
}
sph { density = "continuity", viscosity_model = "artificial" }

-- A round vessel; its walls are three fine layers of samples.
collider "vessel" {
  shape = cylinder { a = {width / 2, 0, width / 2}, b = {width / 2, 0.6, width / 2}, radius = width / 2, invert = true },
  spacing = 0.006, layers = 3, visible = false,
}
liquid "heavy" {
  spacing = spacing, rest_density = 1000, artificial_viscosity = 0.15, color = {0.60, 0.08, 0.05},
  shape = cylinder { a = {width / 2, 0, width / 2}, b = {width / 2, 0.15, width / 2}, radius = width / 2 },
}
liquid "light" {
  spacing = spacing, rest_density = 500, artificial_viscosity = 0.15, color = {0.85, 0.60, 0.08},
  shape = cylinder { a = {width / 2, 0.15, width / 2}, b = {width / 2, 0.313, width / 2}, radius = width / 2 },
}

-- The disk starts slowly: the angle grows with t^2 during the first half second.
local function angle(t)
  if t < 0.5 then return 360 * turns * t * t end
  return 360 * turns * (t - 0.25)
end
local function spin(t) return {0, angle(t), 0} end
local steel = {0.5, 0.52, 0.55}
local function turning(name, shape)
  collider(name) { shape = shape, position = {width / 2, 0.05, width / 2}, rotation_deg = spin, color = steel }
end
turning("disk", cylinder { a = {0, -0.02, 0}, b = {0, 0.01, 0}, radius = 0.2 })
turning("paddle_e", box { min = {0.09, 0.01, -0.014}, max = {0.23, 0.21, 0.014} })
turning("paddle_w", box { min = {-0.23, 0.01, -0.014}, max = {-0.09, 0.21, 0.014} })
turning("paddle_n", box { min = {-0.014, 0.01, 0.09}, max = {0.014, 0.21, 0.23} })
turning("paddle_s", box { min = {-0.014, 0.01, -0.23}, max = {0.014, 0.21, -0.09} })

output { frames = 240, fps = 60, surface = { from = "all" } }

look "surface of heavy" { water = false, color = {0.72, 0.16, 0.14}, gloss = 0.6 }
look "surface of light" { water = false, color = {0.95, 0.76, 0.24}, gloss = 0.6 }
look "heavy" { color = {0.72, 0.16, 0.14}, smooth = 0.8, gloss = 0.5 }
look "light" { color = {0.95, 0.76, 0.24}, smooth = 0.8, gloss = 0.5 }
render { camera_position = {0.86, 0.86, 1.16}, camera_target = {0.3, 0.15, 0.3}, box = false, background = "sky" }
