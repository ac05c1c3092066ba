-- expect: color = 2 is out of range: 0 to 1
-- exit: 3
liquid "water" { color = {0, 2, 0}, shape = box {} }
