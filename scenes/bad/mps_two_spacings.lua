-- expect: with method 'mps' all liquids of a world have one spacing
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 0}, dimension = 2 }
liquid "oil" { method = "mps", spacing = 0.02, shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0} } }
liquid "water" { method = "mps", spacing = 0.03, shape = box { min = {0.5, 0, 0}, max = {0.9, 0.4, 0} } }
output { frames = 1 }
