-- expect: 'setmetatable' is not available in scenes
-- exit: 3
setmetatable({}, { __gc = function() while true do end end })
