-- Wardrobe (Selle 2008, Fig. 6.13): a cover of two million triangles falls over a wardrobe; after three seconds wind blows
-- it off.
-- size: 0.1 of the cells along each side make 20 thousand triangles.
local size = 1
local cells = math.floor(1000 * size + 0.5)
local edge = 4 / cells
domain { min = {-5, 0, -5}, max = {5, 6, 5} }
gravity { 0, -9.8, 0 }
solids { inner = 16, gap = 0.003, domain_friction = 0.2 }
cloth "cover" {
  width = 4, height = 4, columns = cells, rows = cells, position = {0, 4, 0}, rotation_deg = {2, 15, 1},
  density = 1, model = "edges", stiffness = 4.14 / edge, damping = 15, bend_stiffness = 0.41 / edge, bend_damping = 8,
  thickness = 0.01, friction = 0.4, drag = 20, color = {0.70, 0.66, 0.58},
}
-- a few vertices are led for 0.3 s, by up to four cells: the cover does not fall flat
for i, at in ipairs { {-1.3, 0.4}, {0.2, -1.5}, {1.1, 0.9}, {-0.4, 1.6}, {1.6, -0.7} } do
  pin("led_" .. i) {
    of = "cover", shape = capsule { a = {at[1], 3.8, at[2]}, b = {at[1], 4.2, at[2]}, radius = edge },
    position = function(t) return {0, (i % 2 == 0 and 4 or -4) * edge * math.sin(math.pi * math.min(t, 0.3) / 0.6), 0} end,
    stop = 0.3,
  }
end
-- friction on the wardrobe falls from 10 to 0.3 when the wind comes up
collider "wardrobe" {
  shape = box { min = {-0.8, 0, -0.4}, max = {0.8, 2.2, 0.4} }, friction = 10,
  friction_scale = function(t) return t < 3 and 1 or 0.03 end, color = {0.35, 0.20, 0.10},
}
wind "gust" { velocity = function(t) local on = math.min(math.max((t - 3) / 0.1, 0), 1) return {0.001 * on, on, -0.25 * on} end }
look "cover" { color = {0.86, 0.80, 0.68}, two_sided = true, color_back = {0.55, 0.66, 0.70}, gloss = 0.05 }
look "wardrobe" { color = {0.45, 0.28, 0.16}, gloss = 0.3 }
render { camera_position = {4.4, 3.2, 5.6}, camera_target = {-0.3, 1.05, 0}, box = false }
output { frames = 600, fps = 120 }
