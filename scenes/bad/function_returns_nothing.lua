-- expect: speed must be a number, not a nil
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
emitter "tap" { into = "water", speed = function(t) end }
