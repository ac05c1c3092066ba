-- expect: "sheet" lies outside the domain
-- exit: 3
domain { min = {-1, 0, -1}, max = {1, 1, 1} }
cloth "sheet" { position = {0, 5, 0} }
