-- A flame of vortons on a wick.
domain { min = {-1, -0.4, -1}, max = {1, 2.6, 1} }
collider "wick" { shape = sphere { radius = 0.2 } }
fire "flame" { method = "vortex", particles = 200, emitter = "sphere", radius = 0.21, velocity = {0.5, 6, 0} }
vortex_fire { lightness = 0.5, exchange = 5, rise_rate = 30 }
output { frames = 1 }
