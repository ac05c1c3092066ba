-- Two liquids that are immiscible (Bayraktar 2010, figure 5.7, D = 0): the heavy pink one sinks through the white.
require("parts.mixing")(0)
