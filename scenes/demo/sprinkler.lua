-- Sprinkler: two nozzles on an arm that turns, a tap that goes to and fro, and a drain that follows it.
--
-- Faster arm:  kelpie run scenes/demo/sprinkler.lua --set arm.rotation_deg='function(t) return {0, 360 * t, 0} end'
local s = 0.0125

domain { min = {0, 0, 0}, max = {1.2, 0.8, 0.8}, open_top = true }
liquid "water" { method = "flip", spacing = s, viscosity = 0.001, shape = box { min = {0, 0, 0}, max = {1.2, 0.06, 0.8} } }

-- What a parent carries starts where its position says: at the ends of the arm.
collider "arm" {
  shape = box { min = {-0.14, -0.012, -0.012}, max = {0.14, 0.012, 0.012} },
  position = {0.4, 0.42, 0.4}, rotation_deg = function(t) return {0, 200 * t, 0} end, color = {0.45, 0.33, 0.18},
}
collider "post" { shape = cylinder { a = {0.4, 0, 0.4}, b = {0.4, 0.4, 0.4}, radius = 0.014 }, color = {0.45, 0.33, 0.18} }
for i, side in ipairs { -1, 1 } do
  emitter("nozzle" .. i) {
    into = "water", parent = "arm", position = {0.4 + 0.16 * side, 0.43, 0.4},
    direction = {0.3 * side, 0.8, -0.6 * side}, radius = 0.016, speed = 1.5,
  }
end

local function way(t) return 0.95 + 0.12 * math.sin(4 * t) end
emitter "tap" {
  into = "water", position = function(t) return {way(t), 0.62, 0.4} end, radius = 0.022, speed = 0.7,
}
collider "spout" {
  shape = cylinder { a = {0, 0, 0}, b = {0, 0.1, 0}, radius = 0.035 },
  position = function(t) return {way(t), 0.63, 0.4} end, color = {0.5, 0.5, 0.55},
}
sink "drain" {
  shape = capsule { a = {0, 0, -0.2}, b = {0, 0, 0.2}, radius = 0.03 },
  position = function(t) return {way(t), 0, 0.4} end,
}

output { frames = 90, fps = 60 }
render { camera_azimuth_deg = 25, camera_elevation_deg = 22, camera_zoom = 1.15, box = false, background = "sky" }
