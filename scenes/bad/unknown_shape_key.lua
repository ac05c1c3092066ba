-- expect: box: unknown key 'maximum'
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, maximum = {1, 1, 1} } }
