-- expect: look "dust": unknown sprite 'under', did you mean 'over'?
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
look "dust" { sprite = "under" }
output { frames = 1 }
