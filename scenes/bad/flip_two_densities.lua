-- expect: liquid "oil": rest_density is 800 kg/m^3, but that of liquid "brine" is 1100 kg/m^3
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
liquid "brine" { method = "flip", spacing = 0.05, rest_density = 1100, shape = box { min = {0, 0, 0}, max = {1, 0.2, 1} } }
liquid "oil" { method = "flip", spacing = 0.05, rest_density = 800, shape = box { min = {0, 0.2, 0}, max = {1, 0.4, 1} } }
output { frames = 1 }
