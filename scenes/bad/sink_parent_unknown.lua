-- expect: sink "drain": there is no body or collider "cart"
-- exit: 3
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
sink "drain" { shape = sphere { center = {0.5, 0, 0.5}, radius = 0.1 }, parent = "cart" }
