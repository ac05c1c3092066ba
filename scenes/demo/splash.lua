-- Splash: a ball of water falls into a basin and throws up a crown. The pressure is solved for (dfsph), so that steps
-- follow the water and not its sound: some ten times fewer than the dam break beside it would take.
--
-- Finer water:  kelpie run scenes/demo/splash.lua --set water.spacing=0.01 --set drop.spacing=0.01
local spacing = 0.0125
local basin = 0.8

domain { min = {0, 0, 0}, max = {basin, 0.8, basin}, open_top = true }
gravity { 0, -9.81, 0 }

sph {
  solver = "dfsph",
  support = 2,                               -- the fewest neighbours that do; more are slower, not better
  slip = 1,
}

liquid "water" {
  spacing = spacing, viscosity = 1,
  shape = box { min = {0, 0, 0}, max = {basin, 0.1, basin} },
}
liquid "drop" {
  spacing = spacing, viscosity = 1,
  shape = sphere { center = {basin / 2, 0.36, basin / 2}, radius = 0.11 },
  velocity = {0, -2.5, 0},
}

output { frames = 60, fps = 60, surface = { from = "all", join = true, field = "anisotropic" } }

render {
  camera_position = {1.13, 0.73, 1.64}, camera_target = {0.4, 0.12, 0.4},
  box = false, background = "sky", samples = 4,
}
