-- A breaking dam (Bayraktar 2010, Fig. 7.9: 200 K particles).
local spacing = 0.0125

domain { min = {0, 0, 0}, max = {2.92, 1.46, 0.73}, open_top = true }
sph { density = "continuity", viscosity_model = "artificial" }
liquid "water" {
  spacing = spacing, artificial_viscosity = 0.08,
  shape = box { min = {0, 0, 0}, max = {0.73, 0.73, 0.73} },
}

output { frames = 180, fps = 60, surface = { from = "water", field = "anisotropic" } }
render { camera_position = {3.3, 1.35, 3.3}, camera_target = {1.55, 0.32, 0.36}, box = false, background = "sky" }
