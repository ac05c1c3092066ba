-- expect: look "wate": the scene has nothing of this name
-- exit: 3
liquid "water" { shape = box { max = {0.4, 0.4, 0.4} } }
look "wate" { color = {0, 0, 1} }
