-- expect: the scene takes too long
-- exit: 3
local t = {}
for i = 1, 1000 do t[i] = i end
table.sort(t, function(a, b) while true do end end)
