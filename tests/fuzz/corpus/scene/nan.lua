-- expect: viscosity is NaN, which is no number
-- exit: 3
liquid "water" { viscosity = 0/0, shape = box {} }
