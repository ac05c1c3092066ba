-- Floating boxes: wood, cork and stone fall into a pool; the light ones come up again, the stone does not.
--
-- Finer water:  kelpie run scenes/demo/floating_boxes.lua --set water.spacing=0.012
local spacing = 1 / 60

domain { min = {0, 0, 0}, max = {0.9, 0.7, 0.6}, open_top = true }

sph { density = "continuity", viscosity_model = "artificial", slip = 1 }

liquid "water" {
  spacing = spacing,
  artificial_viscosity = 0.1,
  sound_speed = 20,
  shape = box { min = {0, 0, 0}, max = {0.9, 0.2, 0.6} },
}

-- A body is a shape and a density [kg/m^3]; above 1000 it sinks.
local function block(name, density, color, x, y, z, size, spin)
  body(name) {
    shape = box { min = {-size, -size * 0.6, -size}, max = {size, size * 0.6, size} },
    position = {x, y, z},
    density = density,
    angular_velocity = spin,
    color = color,
  }
end
block("cork",   250, {0.70, 0.42, 0.18}, 0.20, 0.34, 0.30, 0.070, {0, 0, 3})
block("wood_1", 500, {0.45, 0.22, 0.08}, 0.46, 0.40, 0.20, 0.085, {2, 0, 0})
block("wood_2", 700, {0.32, 0.14, 0.05}, 0.70, 0.48, 0.38, 0.080, {0, 0, -4})
block("stone", 2500, {0.30, 0.31, 0.33}, 0.42, 0.58, 0.44, 0.055, {1, 0, 2})

output { frames = 100, fps = 60 }

look "water" { color_by = "speed", color_map = "water", range_min = 0, range_max = 1.6, smooth = 0.8, gloss = 0.5 }
render { camera_azimuth_deg = 25, camera_elevation_deg = 28, camera_zoom = 1.2 }
