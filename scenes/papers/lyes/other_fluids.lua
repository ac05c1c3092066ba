-- Other liquids by parameters alone (Lyes 2015, section 8.1): thin milk, thick oil, and a rubbery one
-- of spring-mass with a pull between spheres that part. Three blocks fall into three basins.
local spacing = 0.0125

domain { min = {-0.9, -0.5, -0.3}, max = {0.9, 0.5, 0.3}, restitution = 0.2 }
sph { kernel = "mueller", support = 1.74, integrator = "leapfrog", domain_walls = "planes" }
springs { tension = 0.3, tension_reach = 1.4, shear = 0.4, damping = 0.4 }

local function block(x) return box { min = {x - 0.15, -0.3, -0.15}, max = {x + 0.15, 0.15, 0.15} } end
local function sph_liquid(name, x, density, thickness, color)
  local stiffness = 9.81 * 0.45 / 0.1
  liquid(name) {
    spacing = spacing, jitter = 0.1, shape = block(x), rest_density = density, color = color,
    eos = "linear", stiffness = stiffness,
    viscosity = thickness * math.sqrt(stiffness) * 1.74 * spacing,
  }
end
sph_liquid("milk", -0.6, 1030, 26, {0.85, 0.83, 0.78})
sph_liquid("oil", 0.0, 920, 200, {0.65, 0.42, 0.03})
liquid "rubber" { method = "springs", spacing = spacing, shape = block(0.6), rest_density = 1100,
                  color = {0.55, 0.05, 0.12} }
for k, x in ipairs { -0.3, 0.3 } do
  collider("wall_" .. k) { shape = box { min = {x - 0.02, -0.6, -0.4}, max = {x + 0.02, 0.05, 0.4} } }
end

output { frames = 120, fps = 60, surface = { from = "all" } }
look "milk" { color = {0.95, 0.94, 0.9}, smooth = 0.8, gloss = 0.3 }
look "oil" { color = {0.85, 0.65, 0.1}, smooth = 0.9, gloss = 0.8 }
look "rubber" { color = {0.75, 0.2, 0.3}, smooth = 0.6, gloss = 0.4 }
look "surface of milk" { water = false, color = {0.95, 0.94, 0.9}, gloss = 0.5 }
look "surface of oil" { water = true, color = {0.85, 0.62, 0.08}, density = 8, refraction = 1.47 }
look "surface of rubber" { water = false, color = {0.75, 0.2, 0.3}, gloss = 0.3 }
render { camera_azimuth_deg = 10, camera_elevation_deg = 18, camera_frame = "domain", camera_zoom = 0.95, background = "sky" }
