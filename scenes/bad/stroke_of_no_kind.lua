-- expect: look "knit": unknown stroke 'lumislices', did you mean 'lumislice'?
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
look "knit" { stroke = "lumislices" }
output { frames = 1 }
