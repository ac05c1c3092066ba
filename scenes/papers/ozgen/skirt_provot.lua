-- The skirt with Provot's passes over all edges, the baseline of chapter 6 (Ozgen 2013).
require("parts.skirt")("provot")
