-- A flame of particles in wind.
domain { min = {-1, -0.3, -1}, max = {1, 2.4, 1} }
fire "torch" { particles = 200, radius = 0.12, size = {0.2, 0.1, 0.3}, life_spread = 0.3, wind = 2, burst = 1, decay_rim = 20,
  position = function(t) return {0.5 * math.sin(2 * t), 0, 0} end }
output { frames = 1 }
