-- expect: 'getmetatable' is not available in scenes
-- exit: 3
getmetatable("").__index = nil
