-- expect: hair "locks": it needs a count, or guides that are hairs themselves
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
hair "locks" { count = 0 }
