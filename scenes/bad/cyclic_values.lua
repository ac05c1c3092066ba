-- expect: min must be a number, not a table
-- exit: 3
local t = { 0, 0 }
t[3] = t
domain { min = t }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
