-- expect: %p is not the same everywhere
-- exit: 3
local seed = string.format("%p", {})
