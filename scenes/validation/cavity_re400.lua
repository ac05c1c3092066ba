-- Lid-driven cavity, Re 400, steady after some 25 s; the centre lines are those of Ghia, Ghia & Shin 1982
-- (tests/data) within 0.05 of the lid's speed.
require("parts.cavity")(50, 400)
output { frames = 120, fps = 4, surface = false }
