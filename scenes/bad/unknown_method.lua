-- expect: unknown method 'magic'
-- exit: 3
liquid "water" { method = "magic", shape = box {} }
