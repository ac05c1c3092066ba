-- expect: cloth "sleeve": parabola bends a rectangle of one layer, no mesh, tube or knitwear
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
cloth "sleeve" { tube = true, parabola = 6 }
