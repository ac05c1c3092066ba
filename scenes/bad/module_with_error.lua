-- expect: parts/broken.lua:2:
-- exit: 3
require "parts.broken"
