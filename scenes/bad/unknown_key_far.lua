-- expect: unknown key 'temperature'; known are method, shape
-- exit: 3
liquid "water" { shape = box {}, temperature = 300 }
