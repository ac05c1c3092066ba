-- expect: there is no liquid "watre", did you mean "water"?
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
emitter "tap" { into = "watre", position = {0.5, 0.9, 0.5} }
