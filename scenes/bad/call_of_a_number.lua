-- expect: attempt to call a number value
-- exit: 3
local water = 5
water { }
