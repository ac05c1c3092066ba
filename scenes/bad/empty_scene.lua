-- expect: nothing can ever move: there is no liquid, gas, cloth, hair, soft or free body
-- exit: 3

