-- expect: needs fractional_mode 'calibrated'
-- exit: 3
sph { viscosity_model = "fractional", fractional_mode = "raw", fractional_hybrid = true }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
