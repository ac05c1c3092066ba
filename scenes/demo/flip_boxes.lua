-- Floating boxes, by FLIP: wood, cork and stone fall into a pool; the pressure of the grid carries them.
--
-- Finer water:  kelpie run scenes/demo/flip_boxes.lua --set water.spacing=0.0125
local spacing = 0.02
domain { min = {0, 0, 0}, max = {0.96, 0.72, 0.6} }
gravity { 0, -9.81, 0 }

liquid "water" {
  method = "flip",
  spacing = spacing,
  viscosity = 0,
  shape = box { min = {0, 0, 0}, max = {0.96, 0.24, 0.6} },
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
block("cork",   250, {0.70, 0.42, 0.18}, 0.20, 0.34, 0.40, 0.090, {0, 0, 1})
block("wood",   500, {0.45, 0.22, 0.08}, 0.55, 0.36, 0.18, 0.100, {1, 0, 0})
block("stone", 2500, {0.30, 0.31, 0.33}, 0.72, 0.44, 0.42, 0.070, {1, 0, 2})

output { frames = 60, fps = 30 }

render { camera_position = {1.2, 0.9, 1.8}, camera_target = {0.48, 0.17, 0.28}, box = false, background = "sky" }
