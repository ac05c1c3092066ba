-- One spring (Özgen 2013, Figs. 5.5 and 5.6): how stiff does a pulse of relative speed make it, and
-- for how long? Two particles; one gets 10 mm/s at the start and loses them 0.1 s later.
--
--   kelpie run scenes/papers/ozgen/stiffness.lua -o out/stiffness --set stf.order=0.2
--   kelpie export out/stiffness --to csv
--
-- Column stiffening of the tables is s(t) over its value for the same speed kept up for the whole
-- memory, 1.1284 V for q = 0.5: its largest is 0.316, at 0.1 s. For a steady speed leave out the
-- second force; for other memories, --set stf.memory=0.25.
local a = 0.02
local speed, pulse, ramp = 0.01, 0.1, 0.002

domain { min = {0, 0, 0}, max = {1, 1, 1}, dimension = 2 }
simulation { gravity = {0, 0, 0}, dt = 0.001 }
liquid "ends" {
  method = "stf", spacing = a,
  shape = box { min = {0.48, 0.50, -a}, max = {0.52, 0.52, a} },
}
-- springs too weak to move anything, and no pressure to speak of
stf {
  sound_speed = 1e-3, linear_viscosity = 0, spring_stiffness = 1e-6, plasticity = 0,
  order = 0.5, memory = 1, thickening = 1, reference_speed = speed,
}
local right = box { min = {0.50, 0.4, -1}, max = {0.6, 0.6, 1} }
force "start" { shape = right, acceleration = {0, speed / ramp, 0}, stop = ramp }
force "stop" { shape = right, acceleration = {0, -speed / ramp, 0}, start = pulse, stop = pulse + ramp }

output { frames = 120, fps = 100, surface = false }
look "ends" { color_by = "stiffening", color_map = "heat", range_max = 0.35 }
