-- Newton's cradle: the first of five balls that touch comes with 1 m/s, and the last leaves with it (restitution 1).
domain { min = {-1, -1, -1}, max = {2, 1, 1} }
gravity { 0, 0, 0 }
for i = 1, 5 do
  body("ball" .. i) {
    shape = sphere { center = {0, 0, 0}, radius = 0.05 }, restitution = 1, friction = 0,
    position = {i == 1 and -0.1 or 0.1 * (i - 1), 0, 0}, velocity = {i == 1 and 1 or 0, 0, 0},
  }
end
output { frames = 18, fps = 60 }
