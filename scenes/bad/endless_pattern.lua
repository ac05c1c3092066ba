-- expect: 'string.find' is not available in scenes: patterns can run without end
-- exit: 3
local s = ("a"):rep(1000)
print(s:find((".-"):rep(500) .. "b"))
