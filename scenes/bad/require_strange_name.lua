-- expect: is no name of a module
-- exit: 3
require "parts/\0bytecode"
