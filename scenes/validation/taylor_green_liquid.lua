-- Taylor-Green vortices of a liquid in a periodic square, Re 100: speeds die as exp(-2 nu k^2 t).
-- Try --set water.method=flip, or sph { solver = "dfsph" }.
local n = 50
local k = 2 * math.pi
domain { dimension = 2, max = {1, 1}, boundary_x = "periodic", boundary_y = "periodic" }
gravity { 0, 0, 0 }
sph { solver = "dfsph" }
grid { cell = 1 / n }
liquid "water" {
  spacing = 1 / n, rest_density = 1, viscosity = 0.01,
  shape = box { min = {0, 0, -1}, max = {1, 1, 1} },
  velocity = function(x, y) return -math.cos(k * x) * math.sin(k * y), math.sin(k * x) * math.cos(k * y), 0 end,
}
output { frames = 50, fps = 50 }
