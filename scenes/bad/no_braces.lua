-- expect: domain is written domain { key = value, ... }
-- exit: 3
domain(5)
