-- expect: pairs: keys must be numbers or text, not a table
-- exit: 3
for k in pairs({ [{}] = 1 }) do print(k) end
