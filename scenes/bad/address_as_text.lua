-- expect: a table cannot be written
-- exit: 3
local seed = string.format("%s", {})
