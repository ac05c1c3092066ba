-- Three beams clamped at one end droop under their weight: an elastic material, springs along edges
-- and shortest altitudes, and a softer material that swings.
domain { min = {-0.6, -1, -0.8}, max = {1.2, 0.8, 0.8} }
simulation { dt_max = 1/60 }
local function beam(name, z, keys)
  keys.shape = box { min = {-0.5, -0.08, z - 0.08}, max = {0.5, 0.08, z + 0.08} }
  keys.spacing = 0.08
  keys.density = 500
  soft(name)(keys)
end
beam("material", -0.4, { young = 4e5, poisson = 0.4, color = {0.10, 0.35, 0.55} })
beam("lattice", 0.0, { model = "altitude", stiffness = 1500, damping = 0.3, color = {0.60, 0.35, 0.10} })
beam("jelly", 0.4, { young = 1.2e5, poisson = 0.45, color = {0.45, 0.12, 0.15} })
pin "wall" { shape = box { min = {-0.51, -1, -1}, max = {-0.49, 1, 1} } }
collider "plate" { shape = box { min = {-0.60, -0.35, -0.65}, max = {-0.53, 0.35, 0.65} } }
look "plate" { color = {0.55, 0.57, 0.60}, gloss = 0.3 }
look "material" { color = {0.16, 0.48, 0.70}, gloss = 0.5 }
look "lattice" { color = {0.92, 0.60, 0.16}, gloss = 0.5 }
look "jelly" { color = {0.82, 0.20, 0.24}, gloss = 0.5 }
render { camera_position = {1.5, 0.9, 2.3}, camera_target = {-0.02, -0.3, 0}, box = false }
output { frames = 60, fps = 30 }
