-- expect: impure_memory.lua:6: the function of time gave two answers
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
local last = 0
emitter "tap" { into = "water", position = {0.5, 0.9, 0.5},
  speed = function(t) local old = last; last = t; return old end }
