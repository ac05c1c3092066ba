-- expect: spacing must be a number, not a function
-- exit: 3
liquid "water" { spacing = function(t) return 0.02 end, shape = box {} }
