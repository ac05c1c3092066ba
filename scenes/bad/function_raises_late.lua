-- expect: function_raises_late.lua:7: too late
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
collider "lid" {
  shape = sphere { radius = 0.1 },
  position = function(t)
    if t > 1.5 then error("too late") end
    return {t, 0, 0}
  end,
}
