-- expect: velocity is NaN, which is no number
-- exit: 3
liquid "water" { velocity = {0, 0/0, 0}, shape = box {} }
