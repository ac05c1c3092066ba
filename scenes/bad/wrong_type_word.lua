-- expect: kernel must be a word in quotes, not a number
-- exit: 3
sph { kernel = 2 }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
