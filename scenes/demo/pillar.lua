-- A dam breaks against a pillar and leaves sheets, threads and drops, for the fields that surfaces can be taken from to show.
--
-- Another field:  kelpie run scenes/demo/pillar.lua --set output.surface.field=zhu-bridson
-- All of them beside each other:  tools/surface-fields fields.png
domain { min = {0, 0, 0}, max = {1.2, 0.8, 0.4}, open_top = true }
gravity { 0, -9.81, 0 }
sph { solver = "dfsph", support = 2, slip = 1 }
liquid "water" {
  spacing = 0.02, viscosity = 0.5,
  shape = box { min = {0, 0, 0}, max = {0.36, 0.44, 0.4} },
}
collider "pillar" { shape = box { min = {0.72, 0, 0.14}, max = {0.80, 0.5, 0.26} }, color = {0.75, 0.6, 0.42} }
output { frames = 22, fps = 60, surface = { from = "water" } }
look "surface of water" { water = false, color = {0.30, 0.55, 0.80}, gloss = 0.4 }
render { camera_azimuth_deg = 205, camera_elevation_deg = 24 }
