-- expect: 'loadfile' is not available in scenes
-- exit: 3
loadfile("parts/broken.lua")
