-- expect: cloth "towel": yarn is that of knitwear, which has layers = 3
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
cloth "towel" { columns = 4, rows = 4, model = "grid", yarn = true }
output { frames = 1 }
