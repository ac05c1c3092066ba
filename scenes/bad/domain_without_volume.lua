-- expect: domain: it has no volume
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 0} }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
