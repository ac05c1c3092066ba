-- expect: unknown_entity_far.lua:3: unknown word 'joint'
-- exit: 3
joint "hinge" { }
