-- expect: unknown kernel 'wenland', did you mean 'wendland'?
-- exit: 3
sph { kernel = "wenland" }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
