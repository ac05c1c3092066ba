-- expect: render: unknown fresnel 'shlick', did you mean 'schlick'?
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
render { fresnel = "shlick" }
output { frames = 1 }
