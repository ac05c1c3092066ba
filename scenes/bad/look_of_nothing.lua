-- expect: look "watr": the scene has nothing of this name, did you mean "water"?
-- exit: 3
liquid "water" { shape = box { max = {0.4, 0.4, 0.4} } }
look "watr" { color = {0, 0, 1} }
