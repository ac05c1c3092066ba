-- expect: liquid "b": liquids that mix need one spacing, that of "a" differs
-- exit: 3
liquid "a" { shape = box { min = {0, 0, 0}, max = {0.2, 0.2, 0.2} }, concentration = 1, dispersion = 1e-3 }
liquid "b" { shape = box { min = {0.2, 0, 0}, max = {0.4, 0.2, 0.2} }, spacing = 0.04 }
