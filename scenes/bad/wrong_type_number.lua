-- expect: spacing must be a number, not a string
-- exit: 3
liquid "water" { spacing = "0.02", shape = box {} }
