-- expect: unfinished string
-- exit: 3
domain { min = {0, 0, 0} }
liquid "water { }
