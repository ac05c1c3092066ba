-- expect: cloth "sheet": it needs three dimensions, and the domain has two
-- exit: 3
domain { dimension = 2, min = {0, 0}, max = {1, 1} }
cloth "sheet" { }
