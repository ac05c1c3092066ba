-- expect: fire "flame": method 'vortex' is three-dimensional
-- exit: 3
domain { dimension = 2 }
fire "flame" { method = "vortex", particles = 100 }
