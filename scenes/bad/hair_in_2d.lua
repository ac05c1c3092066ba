-- expect: hair "locks": it needs three dimensions, and the domain has two
-- exit: 3
domain { min = {-1, -1, 0}, max = {1, 1, 0}, dimension = 2 }
hair "locks" { }
