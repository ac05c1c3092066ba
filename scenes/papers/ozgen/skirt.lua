-- A long skirt on a walking figure, its edges kept by one ordered list from the waist (Ozgen 2013,
-- chapter 6, Figs. 6.6, 6.7).
require("parts.skirt")("list")
