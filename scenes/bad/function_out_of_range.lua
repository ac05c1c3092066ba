-- expect: speed = -1
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
emitter "tap" { into = "water", position = {0.5, 0.9, 0.5}, speed = function(t) return t > 1 and -1 or 1 end }
