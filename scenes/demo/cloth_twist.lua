-- A strip of cloth whose ends turn against each other and come together: it winds up, touches itself
-- everywhere and is never cut.
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
gravity { 0, 0, 0 }
simulation { dt_max = 1/60 }
cloth "strip" {
  width = 0.8, height = 0.4, columns = 40, rows = 20,
  density = 0.3, model = "edges", stiffness = 300, bend_stiffness = 1, thickness = 0.01,
  color = {0.12, 0.35, 0.55},
}
pin "left" {
  shape = box { min = {-0.41, -1, -1}, max = {-0.39, 1, 1} },
  position = function(t) return {0.15 * math.min(t, 2), 0, 0} end,
  rotation_deg = function(t) return {450 * math.min(t, 2), 0, 0} end,
}
pin "right" {
  shape = box { min = {0.39, -1, -1}, max = {0.41, 1, 1} },
  position = function(t) return {-0.15 * math.min(t, 2), 0, 0} end,
  rotation_deg = function(t) return {-450 * math.min(t, 2), 0, 0} end,
}
output { frames = 60, fps = 30 }
