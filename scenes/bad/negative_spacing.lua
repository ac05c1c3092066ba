-- expect: spacing = -0.02 is out of range
-- exit: 3
liquid "water" { spacing = -0.02, shape = box {} }
