-- expect: hair "locks": guides: there is no file 'nothing.obj' in the scene's folder
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
hair "locks" { guides = "nothing.obj" }
