-- A ball that falls from 1 m bounces with restitution 0.8: each bounce comes to 0.64 of the height before.
domain { min = {-1, 0, -1}, max = {1, 2, 1} }
body "ball" {
  shape = sphere { center = {0, 0, 0}, radius = 0.05 }, position = {0, 1.05, 0}, restitution = 0.8, friction = 0,
}
probe "path" { of = "ball", kind = "track", interval = 0.02 }
output { frames = 60, fps = 24 }
