-- expect: fractional_order = 1 is out of range
-- exit: 3
sph { viscosity_model = "fractional", fractional_order = 1 }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
