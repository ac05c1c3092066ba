-- expect: 'dofile' is not available in scenes
-- exit: 3
dofile("parts/broken.lua")
