-- Lid-driven cavity of a gas on a grid: a unit square, a lid that slides with 1 m/s, walls at rest. Re 1000.
-- probes_u.csv holds u on x = 1/2, probes_v.csv v on y = 1/2; those of Ghia, Ghia & Shin 1982 (tests/data).
local n = 128
domain { dimension = 2, max = {1, 1} }
gravity { 0, 0, 0 }
grid { cell = 1 / n, no_slip = true, lid = {1, 0, 0} }
smoke "gas" { density = 0, air_density = 1, viscosity = 1e-3, lift = 0, shape = box { min = {0, 0, -1}, max = {1, 1, 1} } }
probe "u" { of = "gas", kind = "fit", min = {0.5, 0.5 / n, 0}, max = {0.5, 1 - 0.5 / n, 0}, counts = {1, n, 1}, interval = 1 }
probe "v" { of = "gas", kind = "fit", min = {0.5 / n, 0.5, 0}, max = {1 - 0.5 / n, 0.5, 0}, counts = {n, 1, 1}, interval = 1 }
output { frames = 40, fps = 1 }
