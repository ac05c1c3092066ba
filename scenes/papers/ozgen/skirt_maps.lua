-- The skirt with three lists, switched by the step: none, right or left knee forward (Ozgen 2013,
-- section 6.4.1, Fig. 6.4).
require("parts.skirt")("maps")
