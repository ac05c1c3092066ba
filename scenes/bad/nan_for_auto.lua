-- expect: stiffness is NaN, which is no number
-- exit: 3
liquid "water" { stiffness = 0/0, shape = box {} }
