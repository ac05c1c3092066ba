domain { min = {-1, 0}, max = {1.6, 0.8}, dimension = 2, boundary_x = "periodic" }
gravity { 0, -1.62 }
simulation { dt = "auto", seed = 7 }
sph { kernel = "wendland", support = 2 }
liquid "water" { spacing = 0.05, shape = sphere { center = {0, 0.4}, radius = 0.2, invert = false } }
liquid "oil" { spacing = 0.1 }
collider "lid" { shape = cylinder { radius = 0.1 }, position = function(t) return {math.sin(t), t, 0} end }
body "duck" { shape = capsule { radius = 0.05 } }
emitter "tap" { into = "oil", position = {0, 0.7}, speed = function(t) return t * t end }
sink "drain" { shape = plane { point = {0, 0.01, 0} } }
output { frames = 2, fps = 25 }
