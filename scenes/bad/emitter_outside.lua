-- expect: emitter "tap": its position lies outside the domain
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
emitter "tap" { into = "water", position = {5, 0, 0} }
