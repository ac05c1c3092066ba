-- Two liquids that mix (Bayraktar 2010, figure 5.7, D = 0.2): the heavy pink one sinks through the white.
require("parts.mixing")(0.2)
