-- Selle 2008, figure 3.2: a plume with vorticity confinement 50. The values are ours: the text gives none.
-- 0 and 2 are moderate, 8 is strong; 50 is far too much: noise, and the plume does not rise.
domain { min = {0, 0, 0}, max = {1, 1.5, 1}, boundary_x = "open", boundary_z = "open", open_top = true }
simulation { dt_max = 1 / 24 }
grid { cell = 1 / 64, advection = "maccormack", limiter = "revert", cfl = 1.75 }

smoke "plume" { empty = true, confinement = 50, lift = 0.03 }
source "vent" {
  into = "plume", shape = sphere { center = {0.5, 0.15, 0.5}, radius = 0.1 },
  density = 1, temperature = 353,
}

output { frames = 72, fps = 24 }
look "plume" { color = {0.92, 0.92, 0.94} }
render { background = "dark", box = false, camera_position = {0.5, 0.75, 2.75}, camera_target = {0.5, 0.52, 0.5} }
