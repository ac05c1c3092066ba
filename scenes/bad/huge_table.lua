-- expect: the scene needs too much memory
-- exit: 3
local t = {}
for i = 1, 1 << 40 do t[i] = { i, i, i, i, i, i, i, i, i, i, i, i } end
