-- expect: direction has no length
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
emitter "tap" { into = "water", position = {0.5, 0.5, 0.5}, direction = {0, 0, 0} }
