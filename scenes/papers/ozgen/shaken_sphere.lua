-- Ozgen 2013, Fig. 4.3 (S10): a box of liquid is shaken to and fro, a ball of half again the liquid's density
-- floats in it without weight, and its path is recorded (probes_path.csv, in the frame of the box). 12K
-- particles of plain SPH; with 7.2K, plain and fractional:
--   kelpie run ... -o out/shaken_low --set water.spacing=0.05263157894736842
--   kelpie run ... -o out/shaken_fsph --set water.spacing=0.05263157894736842 --set sph.viscosity_model=fractional
-- The frame is that of the box: an acceleration everywhere, -a_box(t) = A w^2 sin(w t), on liquid and ball.
-- Amplitude, frequency and viscosity are not given in the dissertation.
local amplitude, frequency = 0.2, 1.0
local w = 2 * math.pi * frequency

domain { min = {0, 0, 0}, max = {1, 1, 1} }
gravity { 0, 0, 0 }
simulation { dt = 0.001 }
sph { kernel = "wendland", support = 2.4, wall = "sph", slip = 0 }

liquid "water" {
  spacing = 1 / 23, rest_density = 1000, viscosity = 10,
  eos = "linear", sound_speed = 20, clamp_negative_pressure = false,
  shape = box { min = {0, 0, 0}, max = {1, 1, 1} },
}

body "ball" { shape = sphere { center = {0.5, 0.5, 0.5}, radius = 0.12 }, density = 1500 }

force "shake" { acceleration = function(t) return {amplitude * w * w * math.sin(w * t), 0, 0} end }

probe "path" { of = "ball", kind = "track", every = 10 }
probe "bulk" { of = "water", kind = "track", every = 10 }

output { frames = 90, fps = 30, surface = { from = "water" } }
look "surface of water" { water = true, color = {0.16, 0.50, 0.66}, density = 0.7 }
look "ball" { color = {0.86, 0.34, 0.12}, gloss = 0.5 }
look "water" { color_by = "speed", color_map = "viridis", radius_scale = 0.3, smooth = 0 }
render { background = "sky", camera_elevation_deg = 22 }
