-- Water poured on a sphere (Bayraktar 2010, figure 5.2, without adhesion): it leaves at the equator.
require("parts.pour")(0)
