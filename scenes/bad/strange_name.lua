-- expect: a name has 1 to 64 letters, digits
-- exit: 3
liquid "../water" { shape = box {} }
