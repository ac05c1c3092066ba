-- expect: failed_assert.lua:3: the tank is too small
-- exit: 3
assert(1 > 2, "the tank is too small")
