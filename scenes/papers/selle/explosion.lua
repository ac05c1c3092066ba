-- Selle 2008, figure 3.4: an explosion of smoke with vortex particles, 180 x 260 x 180 cells, about 6000 particles
-- of radius four cells seeded in the first half second. The source is that of later set-ups of the same group.
local T = 0.5
domain { min = {0, 0, 0}, max = {1, 1.4444444444444444, 1}, boundary_x = "open", boundary_z = "open", open_top = true }
simulation { dt_max = 1 / 24 }
grid { cell = 1 / 180, cfl = 1.75, advection = "maccormack", limiter = "revert", tolerance = 1e-4 }

smoke "cloud" { empty = true, weight = 0, lift = 0.001, ambient = 293, hottest = 4000 }
local box_ = box { min = {0.45, 0, 0.45}, max = {0.55, 0.1, 0.55} }
source "charge" {
  into = "cloud", shape = box_, density = 5, temperature = 3000, stop = T,
  divergence = function(t) return t < T and 200 * math.sin(2 * t / T) * math.exp(-2 * t / T) or 0 end,
}
vortices "swarm" {
  into = "cloud", shape = box_, rule = "ring", magnitude = 2e-3, radius = 4 / 180, kernel = "gaussian",
  rate = 6000 / (T - 1 / 24), start = 1 / 24, stop = T, limit = 6000,
}
look "swarm" { visible = false }

output { frames = 96, fps = 24 }
-- soot, lit by what burns inside
look "cloud" { color = {0.42, 0.38, 0.36} }
render {
  background = "dark", box = false, sun_strength = 0.45, sky_strength = 0.6,
  camera_position = {1.45, 0.62, 2.15}, camera_target = {0.5, 0.43, 0.5},
}
