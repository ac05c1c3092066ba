-- expect: liquid "water": the shape is missing
-- exit: 3
liquid "water" { spacing = 0.05 }
