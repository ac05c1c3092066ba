-- Lid-driven cavity, Re 100, steady after some 15 s; the centre lines are those of Ghia, Ghia & Shin 1982
-- (tests/data) within 0.05 of the lid's speed.
require("parts.cavity")(40, 100)
output { frames = 80, fps = 4, surface = false }
