-- expect: plasma "gas": the shape is missing
-- exit: 3
plasma "gas" { particles = 100 }
