-- expect: friction = -0.5 is out of range
-- exit: 3
body "ball" { shape = sphere { radius = 0.2, center = {0.5, 0.5, 0.5} }, friction = -0.5 }
