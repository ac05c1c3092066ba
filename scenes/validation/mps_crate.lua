-- Moving particles with all they meet: walls, a free body, an emitter. A column of water collapses against
-- a crate that floats away; a jet falls on both.
domain { dimension = 2, min = {0, 0}, max = {0.8, 0.6}, open_top = true }

liquid "water" { method = "mps", spacing = 0.02, shape = box { min = {0, 0}, max = {0.3, 0.3} } }
body "crate" { shape = box { min = {0.45, 0.02, -0.1}, max = {0.6, 0.15, 0.1} }, density = 400, layers = 3 }
emitter "jet" { into = "water", position = {0.4, 0.5, 0}, direction = {1, -1, 0}, radius = 0.04, speed = 1.5 }

output { frames = 60, fps = 60, surface = false }
