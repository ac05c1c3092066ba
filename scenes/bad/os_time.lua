-- expect: 'os' is not available in scenes
-- exit: 3
local seed = os.time()
