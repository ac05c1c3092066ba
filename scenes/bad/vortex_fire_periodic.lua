-- expect: fire "flame": method 'vortex' does not go with periodic boundaries
-- exit: 3
domain { boundary_x = "periodic" }
fire "flame" { method = "vortex", particles = 100 }
