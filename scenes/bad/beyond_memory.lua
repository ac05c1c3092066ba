-- expect: GB of memory and this machine has
-- exit: 3
domain { max = {100, 100, 100} }
liquid "water" { spacing = 0.0001, shape = box { max = {100, 100, 100} } }
