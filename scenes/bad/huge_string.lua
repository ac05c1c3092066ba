-- expect: the scene needs too much memory
-- exit: 3
local s = ("x"):rep(1000)
for i = 1, 40 do s = s .. s end
