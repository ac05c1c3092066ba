-- expect: the scene takes too long
-- exit: 3
local s = ("x"):rep(1000000)
while true do local _ = s .. "y" end
