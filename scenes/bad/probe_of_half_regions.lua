-- expect: probe "eye": counts must be whole numbers, unlike 2.5
-- exit: 3
domain { max = {1, 1, 1} }
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
probe "eye" { of = "water", max = {1, 1, 1}, counts = {2, 2.5, 1} }
