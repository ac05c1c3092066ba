-- expect: look "dust": unknown sprite 'ovver', did you mean 'over'?
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
look "dust" { sprite = "ovver" }
output { frames = 1 }
