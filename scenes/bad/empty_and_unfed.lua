-- expect: has no shape and no emitter feeds it
-- exit: 3
liquid "water" { empty = true }
