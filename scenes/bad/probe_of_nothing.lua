-- expect: probe "eye": of = "watre" is no population or body, did you mean "water"?
-- exit: 3
domain { max = {1, 1, 1} }
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
probe "eye" { of = "watre", radius = 0.1 }
