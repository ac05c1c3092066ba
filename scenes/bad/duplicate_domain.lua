-- expect: domain is said twice, first at duplicate_domain.lua:3
-- exit: 3
domain { max = {1, 1, 1} }
domain { max = {2, 1, 1} }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
