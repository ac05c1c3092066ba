-- expect: lies outside the scene's folder
-- exit: 3
require "parts.../../demo/dam_break"
