-- The skirt without limits on its edges: what the springs alone leave of it (Ozgen 2013, chapter 6).
require("parts.skirt")("none")
