-- expect: string.rep would make more than
-- exit: 3
local s = string.rep("", 1 << 40, "xx")
