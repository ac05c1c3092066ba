-- Water breaks over a glass ball and a red stone: rays bend at every surface of the water and of the glass.
--
-- Finer water:  kelpie run scenes/demo/glass_ball.lua --set water.spacing=0.01 --set output.frames=24
domain { min = {0, 0, 0}, max = {0.6, 0.4, 0.4} }
gravity { 0, -9.81, 0 }

liquid "water" {
  method = "flip", spacing = 0.02, viscosity = 0,
  shape = box { min = {0, 0, 0}, max = {0.2, 0.3, 0.4} },
}
collider "lens"  { shape = sphere { center = {0.40, 0.09, 0.20}, radius = 0.09 } }
collider "stone" { shape = sphere { center = {0.50, 0.05, 0.32}, radius = 0.05 }, color = {0.7, 0.2, 0.1} }

output { frames = 10, fps = 30 }
look "lens" { opacity = 0.1, refraction = 1.5, color = {1, 1, 1} }
render { background = "sky", camera_elevation_deg = 20 }
