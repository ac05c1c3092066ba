-- expect: fractional_steps = 0 is out of range
-- exit: 3
sph { viscosity_model = "fractional", fractional_steps = 0 }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
