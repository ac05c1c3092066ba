-- expect: shape must be a shape such as box
-- exit: 3
liquid "water" { shape = { min = {0, 0, 0}, max = {1, 1, 1} } }
