-- expect: liquid is written liquid "name" { key = value, ... }
-- exit: 3
liquid { shape = box {} }
