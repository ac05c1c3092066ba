-- expect: spacing = 2 m does not fit the domain
-- exit: 3
liquid "water" { spacing = 2, shape = box {} }
