-- expect: 'collectgarbage' is not available in scenes
-- exit: 3
collectgarbage("stop")
