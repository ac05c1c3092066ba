-- expect: the name is a word of the scene language
-- exit: 3
liquid "domain" { shape = box {} }
