-- expect: into = "liquid to feed" is missing
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
emitter "tap" { position = {0.5, 0.9, 0.5} }
