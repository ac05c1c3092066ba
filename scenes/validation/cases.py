"""What tools/validation runs: scenes, curves and what they are held against."""

import csv
import dataclasses
import math
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
G = 9.81


@dataclasses.dataclass
class Case:
    name: str
    title: str
    scene: str
    claim: str           # what is held to be true
    size: str            # of the case, in words
    source: str          # of the reference
    x: str               # the axis: a column of curve.csv
    y: str               # the quantity
    measured: object     # (run) -> [(x, y)]
    reference: object    # (x) -> y, or [(x, y)]
    limit: float         # of the error
    norm: str = "max"    # or "rms"
    scale: float = None  # what errors are taken over; None: the largest reference
    begin: float = -math.inf
    end: float = math.inf
    settings: tuple = ()


def data(name, x, y, where=None):
    """Points of a file of reference data, those whose column has the value asked for."""
    with open(os.path.join(ROOT, "tests", "data", name), newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if where is None or row[where[0]] == where[1]]
    return [(float(row[x]), float(row[y])) for row in rows]


# ---- channels: 20 particles across, Re 0.2

WIDTH, TOP_SPEED = 0.02, 0.01


def channel(run):
    return run.profile("profile", "y", "velocity_x", last=5)


# ---- the collapse of a column: lengths in a, times in sqrt(a / 2 g)

COLUMN = 2.25 * 0.0254
MARTIN_MOYCE = data("martin_moyce_1952.csv", "T", "Z", ("a_inch", "2.25"))
MATCHED = MARTIN_MOYCE[2]


def front(run):
    """The front, from when it passes the third point of the measurement: before it the membrane that held
    the column still goes away."""
    points = [(t * math.sqrt(2.0 * G / COLUMN), x / COLUMN) for t, x in run.column("stats", "water.max_x")]
    t0 = next(t for t, z in points if z >= MATCHED[1])
    return [(t - t0 + MATCHED[0], z) for t, z in points]


# ---- standing waves on water: one wave in the tank, of linear theory

WAVE = {"length": 1.0, "depth": 0.25, "height": 0.01}
WAVE_RATE = math.sqrt(G * 2.0 * math.pi / WAVE["length"] *
                      math.tanh(2.0 * math.pi * WAVE["depth"] / WAVE["length"]))


def gauge(run):
    """Height over the mean, at the left wall."""
    points = run.column("probes_gauge", "height")
    mean = WAVE["depth"]
    return [(t, y - mean) for t, y in points]


def standing_wave(method, title, limit):
    return Case(
        name="standing_wave_" + method, title="Standing wave, " + title, scene="standing_wave.lua",
        claim="a low wave in a tank swings with the period of linear theory and keeps its height",
        size="length 1 m, depth 0.25 m, height 1 cm, spacing 1 cm, 2.4 s", source="Lamb 1932, section 228",
        x="time [s]", y="height at the wall [m]", measured=gauge,
        reference=lambda t: WAVE["height"] * math.sin(WAVE_RATE * t), limit=limit, norm="rms",
        settings=("water.method=" + method,))


CASES = [
    Case(name="couette", title="Couette flow", scene="couette.lua",
         claim="between a wall at rest and one that slides the velocity grows linearly",
         size="2D, 20 particles across, Re 0.2", source="u(y) = U y / W", x="y [m]", y="velocity [m/s]",
         measured=channel, reference=lambda y: TOP_SPEED * y / WIDTH, limit=0.02),
    Case(name="poiseuille", title="Poiseuille flow", scene="poiseuille.lua",
         claim="between walls at rest the velocity is a parabola",
         size="2D, 20 particles across, Re 0.2", source="u(y) = g y (W - y) / 2 nu", x="y [m]",
         y="velocity [m/s]", measured=channel,
         reference=lambda y: 4.0 * TOP_SPEED * y * (WIDTH - y) / WIDTH ** 2, limit=0.02),
    Case(name="hydrostatic", title="Pressure at rest", scene="hydrostatic.lua",
         claim="the pressure of still water grows with depth by its weight",
         size="2D, 20 particles deep, 2 s", source="p = rho g d", x="y [m]", y="pressure [Pa]",
         measured=lambda run: run.profile("depth", "y", "pressure", last=10),
         reference=lambda y: 1000.0 * G * (0.4 - y), limit=0.03),
    Case(name="dam_break", title="Collapse of a water column", scene="dam_break_2d.lua",
         claim="the front of a collapsing column runs ahead as measured",
         size="2D, 24 particles across a, n^2 = 2", source="Martin & Moyce 1952, a = 2.25 inch", x="T", y="front / a",
         measured=front, reference=MARTIN_MOYCE, limit=0.05, begin=MATCHED[0], norm="rms"),
    Case(name="floating_body", title="A floating raft", scene="floating_body.lua",
         claim="a raft of half the density of water floats half immersed", size="2D, spacing 0.02 m, 3 s",
         source="Archimedes", x="time [s]", y="height of the middle [m]",
         measured=lambda run: run.column("probes_pose", "y"),
         reference=lambda t: 0.4 + 0.0, limit=0.02, scale=0.2, begin=2.0),
    standing_wave("sph", "SPH", 0.2),
    standing_wave("flip", "FLIP", 0.2),
    standing_wave("level_set", "level set", 0.2),
]

# scenes without a curve: what they are for stands in them
NOT_PLOTTED = ("cavity_re100.lua", "cavity_re400.lua", "couette_fractional.lua", "mps_crate.lua",
               "two_fluids.lua")
