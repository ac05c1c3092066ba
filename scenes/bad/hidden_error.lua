-- expect: 'pcall' is not available in scenes
-- exit: 3
while true do pcall(string.rep, "x", 1 << 30) end
