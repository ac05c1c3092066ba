-- expect: box: a shell needs three dimensions
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 0}, dimension = 2 }
body "crate" { shape = box { min = {0.2, 0.2, 0}, max = {0.4, 0.4, 0.2}, shell = 0.01 } }
