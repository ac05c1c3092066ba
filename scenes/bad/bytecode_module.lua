-- expect: attempt to load a binary chunk
-- exit: 3
require "parts.bytecode"
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
