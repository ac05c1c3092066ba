-- expect: broken.lua:1: unknown statement '--'
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
collider "statue" { shape = mesh { file = "parts/broken.lua" } }
