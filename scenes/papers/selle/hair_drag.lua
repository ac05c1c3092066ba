-- Selle 2008, Fig. 7.4: a hair is drawn across another, sticks to it and lets go at once.
domain { min = {-1.2, -0.8, -1.2}, max = {2.6, 0.6, 1.2} }
simulation { dt_max = 1/60 }
solids { dt = 1/1200, inner = 1 }
local strand = {
  rooted = false, count = 1, segments = 100, length = 1, density = 1e-4,
  edge_stiffness = 10, bend_stiffness = 0.02, torsion_stiffness = 0.02, altitude_stiffness = 0.02,
  stiction = 0.02, stiction_distance = 0.003, stiction_break = 0.02, stiction_links = 1, stiction_damping = 10,
  radius = 0.003, thickness = 0.003,
}
local function with(more) for k, v in pairs(strand) do more[k] = v end return more end
hair "still" (with { root = {-0.5, 0, 0}, direction = {1, 0, 0}, color = {0.2, 0.1, 0.05} })
hair "drawn" (with { root = {0, 0.002, -0.5}, direction = {0, 0, 1}, color = {0.05, 0.1, 0.25} })
pin "left" { of = "still", shape = sphere { center = {-0.5, 0, 0}, radius = 0.02 } }
pin "right" { of = "still", shape = sphere { center = {0.5, 0, 0}, radius = 0.02 } }
local function away(t) return t < 3 and 0 or t > 6 and 2 or 2 * (t - 3) / 3 end
pin "front" { of = "drawn", shape = sphere { center = {0, 0.002, -0.5}, radius = 0.02 },
  position = function(t) return {away(t), 0, 0} end }
pin "back" { of = "drawn", shape = sphere { center = {0, 0.002, 0.5}, radius = 0.02 },
  position = function(t) return {away(t), 0, 0} end }
-- drawn three times as thick as they are, to be seen
look "still" { color = {0.88, 0.60, 0.30}, radius_scale = 3, gloss = 0.5 }
look "drawn" { color = {0.16, 0.34, 0.66}, radius_scale = 3, gloss = 0.5 }
render {
  camera_position = {0.95, 0.5, 1.1}, camera_target = {0.24, -0.06, 0}, box = false,
  ground_height = 0.62, sun = {-0.5, 1, 0.35}, sky_strength = 0.8,
}
output { frames = 168, fps = 24 }
