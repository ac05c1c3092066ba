-- expect: 'io' is not available in scenes: files cannot be reached
-- exit: 3
local f = io.open("/etc/passwd")
