-- Taylor-Green vortices in a periodic square: u = -cos x sin y, v = sin x cos y die as exp(-2 nu k^2 t), Re 100.
local n = 64
local k = 2 * math.pi
local nu = 0.01
domain { dimension = 2, max = {1, 1}, boundary_x = "periodic", boundary_y = "periodic" }
gravity { 0, 0, 0 }
grid { cell = 1 / n }
smoke "gas" {
  density = 0, air_density = 1, viscosity = nu, lift = 0,
  shape = box { min = {0, 0, -1}, max = {1, 1, 1} },
  velocity = function(x, y) return -math.cos(k * x) * math.sin(k * y), math.sin(k * x) * math.cos(k * y), 0 end,
}
output { frames = 50, fps = 50 }
