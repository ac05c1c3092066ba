-- A box slides down a slope of 30 degrees with friction 0.3: it comes x = (sin a - mu cos a) g t^2 / 2 far.
-- The slope is a plane; gravity leans instead of it.
local a = math.rad(30)
domain { min = {-1, 0, -1}, max = {6, 2, 1} }
gravity { 9.81 * math.sin(a), -9.81 * math.cos(a), 0 }
rigid { domain_friction = 0.3 }
body "box" { shape = box { min = {-0.1, 0, -0.1}, max = {0.1, 0.1, 0.1} }, friction = 0.3 }
probe "way" { of = "box", kind = "track", interval = 0.02 }
output { frames = 36, fps = 24 }
