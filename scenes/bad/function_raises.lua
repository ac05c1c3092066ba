-- expect: function_raises.lua:5: no motion today
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
local function move(t)
  error("no motion today")
end
collider "lid" { shape = sphere { radius = 0.1 }, position = move }
