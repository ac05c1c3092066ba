-- expect: 'load' is not available in scenes: code cannot be made from text
-- exit: 3
load("return 1")()
