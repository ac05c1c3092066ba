-- expect: output.surface.join: "oil" has a spacing of 0.05 m and "water" one of 0.1 m
-- exit: 3
domain { min = {0, 0, 0}, max = {2, 1, 1} }
liquid "oil" { spacing = 0.05, shape = box { min = {0, 0, 0}, max = {0.5, 0.5, 0.5} } }
liquid "water" { spacing = 0.1, shape = box { min = {1, 0, 0}, max = {1.5, 0.5, 0.5} } }
output { frames = 1, surface = { from = "all", join = true } }
