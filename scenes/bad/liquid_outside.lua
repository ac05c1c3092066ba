-- expect: liquid_outside.lua:3: liquid "water": its shape lies outside the domain
-- exit: 3
liquid "water" { shape = box { min = {3, 0, 0}, max = {4, 1, 1} } }
