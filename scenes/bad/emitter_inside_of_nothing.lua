-- expect: emitter "tap": the shape is missing
-- exit: 3
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
emitter "tap" { into = "water", from = "inside", position = {0.5, 0.5, 0.5} }
