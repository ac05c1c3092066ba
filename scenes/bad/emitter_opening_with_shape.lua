-- expect: an opening has no shape; from = "inside" fills it
-- exit: 3
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
emitter "tap" { into = "water", shape = sphere { center = {0.5, 0.5, 0.5}, radius = 0.1 } }
