-- expect: force "gust": its shape must be a box or a sphere
-- exit: 3
domain { max = {1, 1, 1} }
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
force "gust" { acceleration = {1, 0, 0}, shape = plane { normal = {0, 1, 0} } }
