-- A flat tank empties through a crooked pipe (Bayraktar 2010, Fig. 7.1: 12 K particles of liquid,
-- 1 K of walls, Lennard-Jones boundary force).
local s = 0.005

domain { dimension = 2, min = {0, 0}, max = {1.1, 1.45}, open_top = true }
sph { wall = "lennard_jones", domain_walls = "planes" }

liquid "water" {
  spacing = s, viscosity = 0.5,
  shape = box { min = {0.205, 0.805}, max = {0.755, 1.355} },
}

-- Walls are strokes: capsules between two points, one spacing thick.
local n = 0
local function wall(ax, ay, bx, by)
  n = n + 1
  collider("wall" .. n) {
    shape = capsule { a = {ax, ay}, b = {bx, by}, radius = 0.8 * s },
    spacing = 1.15 * s, layers = 1, color = {0.35, 0.36, 0.40},
  }
end
wall(0.20, 0.80, 0.20, 1.38)  -- tank
wall(0.76, 0.80, 0.76, 1.38)
wall(0.20, 0.80, 0.44, 0.80)
wall(0.52, 0.80, 0.76, 0.80)
wall(0.44, 0.80, 0.44, 0.66)  -- pipe: down, aside, down
wall(0.52, 0.80, 0.52, 0.69)
wall(0.44, 0.66, 0.68, 0.47)
wall(0.52, 0.69, 0.76, 0.50)
wall(0.68, 0.47, 0.68, 0.36)
wall(0.76, 0.50, 0.76, 0.36)

output { frames = 240, fps = 60, surface = false }
look "water" { color_by = "velocity", color_map = "water", range_max = 3, smooth = 0.2 }
render { box = false, ground = "none" }
