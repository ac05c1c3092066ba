-- expect: nothing can ever move: there is no liquid
-- exit: 3

