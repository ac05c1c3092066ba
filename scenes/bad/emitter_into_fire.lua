-- expect: emitter "jet": there is no liquid "flame"
-- exit: 3
fire "flame" { }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.2, 0.2, 0.2} } }
emitter "jet" { into = "flame", position = {0.5, 0.5, 0.5} }
