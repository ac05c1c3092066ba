-- Water poured on a sphere that holds it (Bayraktar 2010, figure 5.2, with adhesion): it runs round the
-- sphere and wets its underside.
require("parts.pour")(0.2)
