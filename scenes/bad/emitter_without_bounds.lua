-- expect: emitter "rain": its shape has no bounds
-- exit: 3
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
emitter "rain" { into = "water", from = "surface", shape = plane { point = {0, 0.9, 0}, normal = {0, -1, 0} } }
