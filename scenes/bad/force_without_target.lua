-- expect: force "gust": on = "watr" is no population or body, did you mean "water"?
-- exit: 3
domain { dimension = 2, max = {1, 1} }
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, -1}, max = {0.4, 0.4, 1} } }
force "gust" { acceleration = {1, 0, 0}, on = "watr" }
