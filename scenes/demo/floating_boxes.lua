-- Floating boxes: wood, cork and stone fall into a pool; the light ones come up again, the stone does not.
--
-- Finer water:  kelpie run scenes/demo/floating_boxes.lua --set water.spacing=0.0125
local spacing = 0.02

domain { min = {0, 0, 0}, max = {0.9, 0.7, 0.6}, open_top = true }

sph { density = "continuity", viscosity_model = "artificial", slip = 1 }

liquid "water" {
  spacing = spacing,
  artificial_viscosity = 0.15,
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
block("cork",   150, {0.70, 0.42, 0.18}, 0.18, 0.28, 0.40, 0.070, {0, 0, 1})
block("wood_1", 300, {0.45, 0.22, 0.08}, 0.42, 0.29, 0.17, 0.085, {1, 0, 0})
block("wood_2", 400, {0.32, 0.14, 0.05}, 0.72, 0.30, 0.40, 0.080, {0, 0, -1})
block("stone", 2500, {0.30, 0.31, 0.33}, 0.45, 0.42, 0.44, 0.055, {1, 0, 2})

output { frames = 100, fps = 60, surface = { from = "water", field = "anisotropic" } }

render { camera_position = {1.0, 0.75, 1.5}, camera_target = {0.46, 0.15, 0.3}, box = false, background = "sky" }
