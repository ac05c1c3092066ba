-- expect: liquid "water" has no { } with its values
-- exit: 3
local _ = liquid "water"
