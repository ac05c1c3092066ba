-- expect: nothing can ever move: there is no liquid
-- exit: 3
domain { max = {2, 2, 2} }
