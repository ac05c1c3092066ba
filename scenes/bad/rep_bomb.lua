-- expect: string.rep would make more than
-- exit: 3
local s = ("x"):rep(1 << 40)
