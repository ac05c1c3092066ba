-- The skirt with three lists, chosen by contact: a knee that lifts the cloth brings the list that starts
-- from what it touches (Ozgen 2013, section 6.4.1).
require("parts.skirt")("events")
