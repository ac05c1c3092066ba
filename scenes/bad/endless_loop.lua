-- expect: the scene takes too long: it may use 50 million instructions
-- exit: 3
local n = 0
while true do
  n = n + 1
end
