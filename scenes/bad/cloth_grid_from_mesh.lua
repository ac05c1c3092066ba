-- expect: cloth "sheet": model = "grid" needs a rectangle, not a mesh
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
cloth "sheet" { mesh = "parts/open.obj", model = "grid" }
