-- Pictures of correction lists (Ozgen 2013, Figs. 6.2, 6.3, 6.5): the same cloth with four fixed sets,
-- coloured by the place of each node in its list, from dark (fixed) to light (last).
domain { min = {-3, -2, -1}, max = {3, 0.5, 1} }
solids { dt = 1/200, inner = 5 }
local function rim(from, to) return box { min = {from, -0.001, -1}, max = {to, 0.001, 1} } end
local sets = {
  { "top", function(x) return rim(x - 0.6, x + 0.6) end },
  { "corners", function(x) return rim(x - 0.6, x - 0.49) end },
  { "corner", function(x) return rim(x + 0.49, x + 0.6) end },
  { "middle", function(x) return sphere { center = {x, -0.5, 0}, radius = 0.2 } end },
}
for k, set in ipairs(sets) do
  local name, x = set[1], 1.2 * (k - 2.5)
  cloth(name) {
    width = 1, height = 1, columns = 40, rows = 40, position = {x, -0.5, 0}, rotation_deg = {90, 0, 0},
    density = 0.2, model = "grid", bend_diagonals = true, stiffness = 0.2, shear = 0.2,
    bend_stiffness = 0.02, damping = 0, bend_damping = 0, viscosity = 10, self = false,
    scheme = "position_verlet",
  }
  pin("held_" .. name) { of = name, shape = set[2](x) }
  if name == "corners" then
    pin "held_other" { of = name, shape = rim(x + 0.49, x + 0.6) }
  end
  limit("list_" .. name) { of = name, down = name == "middle" and "distance" or "gravity" }
  look(name) { color_by = "order", color_map = "viridis", range_min = 0, range_max = 1 }
end
render { camera_position = {0, -0.6, 7.5}, camera_target = {0, -0.62, 0}, ground = "none", box = false, camera_fov_deg = 22 }
output { frames = 60, fps = 30 }
