local t = { 3, 1, 2, zebra = 1, apple = 2 }
table.sort(t, function(a, b) return a < b end)
for k, v in pairs(t) do print(tostring(k), ("%s=%d"):format(k, v)) end
for i, v in ipairs(t) do table.insert(t, 1, v) if i > 5 then break end end
liquid "water" { shape = box { max = {#t / 10, 0.5, select(2, 1, 0.5)} } }
