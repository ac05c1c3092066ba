-- expect: into has 500 characters, of at most 127
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
emitter "tap" { into = ("x"):rep(500) }
