-- expect: open_top must be true or false, not a number
-- exit: 3
domain { open_top = 1 }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
