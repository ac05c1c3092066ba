-- expect: broken.obj:5: a face uses vertex 9
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
collider "statue" { shape = mesh { file = "parts/broken.obj" } }
