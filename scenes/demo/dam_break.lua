-- Dam break: a column of water is let go at one end of a tank and meets a pillar on its way.
--
-- Finer water:  kelpie run scenes/demo/dam_break.lua --set water.spacing=0.0125
local spacing = 1 / 60                       -- metres between particles; the tank is a multiple of it
local tank = { length = 1.6, height = 0.8, width = 0.6 }

domain {
  min = {0, 0, 0},
  max = {tank.length, tank.height, tank.width},
  open_top = true,                           -- what leaves through the top is gone
}
gravity { 0, -9.81, 0 }

-- Density that is carried along (continuity) and a little artificial viscosity keep water in one piece.
sph { density = "continuity", viscosity_model = "artificial", slip = 1 }

liquid "water" {
  spacing = spacing, jitter = 0.2,           -- without it rows of particles show as grooves
  artificial_viscosity = 0.2,
  sound_speed = 25,                          -- some ten times the speed of the wave; higher is slower to compute
  shape = box { min = {0, 0, 0}, max = {0.4, 0.5, tank.width} },
}

collider "pillar" {
  shape = cylinder { a = {0.9, 0, 0.3}, b = {0.9, 0.55, 0.3}, radius = 0.07 },
  color = {0.55, 0.42, 0.30},
}

output { frames = 100, fps = 60, surface = { from = "water", spray_share = 0.28 } }   -- shreds at the walls are spray too

-- Pictures: clear water under the sky. With look "surface of water" { visible = false } they show its particles,
-- white where they are fast.
render { camera_azimuth_deg = 32, camera_elevation_deg = 20, camera_frame = "domain", camera_zoom = 1.05, background = "sky", samples = 4 }   -- 16 for film, 64 for stills
