-- expect: render: shutter = -0.5 is out of range
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
render { shutter = -0.5 }
output { frames = 1 }
