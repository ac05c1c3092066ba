-- expect: spacing = 0 is out of range
-- exit: 3
liquid "water" { spacing = 0, shape = box {} }
