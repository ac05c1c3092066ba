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
    is_discrete: bool = False  # x counts things
    is_long: bool = False  # it takes minutes: runs with --long, or by name
    at_points: bool = False  # errors are taken at the points of the reference, not on the chords between them


def data(name, x, y, where=None):
    """Points of a file of reference data, those whose column has the value asked for."""
    with open(os.path.join(ROOT, "tests", "data", name), newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if where is None or row[where[0]] == where[1]]
    return [(float(row[x]), float(row[y])) for row in rows]


# ---- channels, Re 0.2

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

WAVE = {"length": 1.0, "depth": 0.25, "height": 0.02}
WAVE_RATE = math.sqrt(G * 2.0 * math.pi / WAVE["length"] *
                      math.tanh(2.0 * math.pi * WAVE["depth"] / WAVE["length"]))


def gauge(run):
    """Height over the mean, at the left wall."""
    points = run.column("probes_gauge", "height")
    mean = WAVE["depth"]
    return [(t, y - mean) for t, y in points]


def standing_wave(method, title, limit, settings=(), spacing="1 cm"):
    return Case(
        name="standing_wave_" + method, title="Standing wave, " + title, scene="standing_wave.lua",
        claim="a low wave in a tank swings with the period of linear theory and keeps its height",
        size="length 1 m, depth 0.25 m, height 2 cm, spacing %s, 2.4 s" % spacing, source="Lamb 1932, section 228",
        x="time [s]", y="height at the wall [m]", measured=gauge,
        reference=lambda t: WAVE["height"] * math.sin(WAVE_RATE * t), limit=limit, norm="rms",
        settings=("water.method=" + method,) + settings)


# ---- lid-driven cavities

def ghia(table, reynolds):
    axis, name = ("y", "u") if table.endswith("_u") else ("x", "v")
    return sorted(data(table + ".csv", axis, "%s_re%d" % (name, reynolds)))


def cavity(name, scene, reynolds, probe, limit, size, settings=()):
    along, component = ("y", "x") if probe == "u" else ("x", "y")
    return Case(
        name="%s_%s" % (name, probe), title="Lid-driven cavity, %s, Re %d, %s" % (
            "gas" if "grid" in scene else "SPH", reynolds, "u on x = 1/2" if probe == "u" else "v on y = 1/2"),
        scene=scene, claim="the flow below a sliding lid becomes that of the reference", size=size,
        source="Ghia, Ghia & Shin 1982", x="%s [m]" % along, y="velocity over that of the lid",
        measured=lambda run: run.profile(probe, along, "velocity_" + component, last=4),
        reference=ghia("ghia_1982_" + probe, reynolds), limit=limit, norm="rms", scale=1.0, settings=settings,
        # 17 points are too few to be joined by straight lines: these are 0.04 off the curve
        at_points="grid" in scene)


# ---- vortices that die of viscosity

def decay(population):
    """Amplitude over that of the start, from the kinetic energy."""
    def read(run):
        points = run.column("stats", population + ".kinetic_energy")
        return [(t, math.sqrt(e / points[0][1])) for t, e in points]
    return read


def taylor_green(name, title, scene, population, limit, size, settings=()):
    rate = 2.0 * 0.01 * (2.0 * math.pi) ** 2
    return Case(name="taylor_green_" + name, title="Taylor-Green vortices, " + title, scene=scene,
                claim="vortices in a periodic square die as exp(-2 nu k^2 t)", size=size,
                source="Taylor & Green 1937; exact in two dimensions", x="time [s]", y="speed over that of the start",
                measured=decay(population), reference=lambda t: math.exp(-rate * t), limit=limit, scale=math.exp(-rate),
                settings=settings)


# ---- smoke in a closed box

def box_of_smoke(amount):
    def read(run):
        points = run.column("stats", "gas." + amount)
        return [(t, value / points[0][1]) for t, value in points]
    return Case(name="smoke_box_" + amount, title="Smoke in a closed box, " + amount, scene="smoke_box.lua",
                claim="smoke in a closed box stays, and so does its heat", size="24 x 24 x 24 cells, 5 s",
                source="conservation", x="time [s]", y="%s over that of the start" % amount, measured=read,
                reference=lambda t: 1.0, limit=0.01)


# ---- bodies

def speeds_of_balls(run):
    last = run.rows("stats")[-1]
    return [(i, last["ball%d.momentum_x" % i] / last["ball%d.mass" % i]) for i in range(1, 6)]


def axis_of(row):
    """The y axis of a body in the world, from its quaternion."""
    w, x, y, z = (row["orientation_" + c] for c in "wxyz")
    return (2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x))


def tilt_of_top(run):
    return [(row["time"], math.degrees(math.acos(axis_of(row)[1]))) for row in run.rows("probes_gyration")]


def turn_of_top(run):
    """The angle that the axis has gone round."""
    points, turned, was = [], 0.0, None
    for row in run.rows("probes_gyration"):
        x, _, z = axis_of(row)
        now = math.atan2(-z, x)
        if was is not None:
            turned += (now - was + math.pi) % (2.0 * math.pi) - math.pi
        was = now
        points.append((row["time"], turned))
    return points


def rate_of_top():
    """As in the scene."""
    tilt, spin = math.radians(20.0), 300.0
    radius, lower, upper = 0.03, 0.04, 0.01
    m1, m2 = lower / (lower + upper), upper / (lower + upper)  # of two cones on one base
    y1, y2 = 0.75 * lower, lower + 0.25 * upper
    arm, i3 = m1 * y1 + m2 * y2, 0.3 * radius ** 2
    i1 = m1 * (0.15 * radius ** 2 + 0.6 * lower ** 2) + m2 * (0.15 * radius ** 2 + 0.0375 * upper ** 2 + y2 ** 2)
    a, b, c = i1 * math.cos(tilt), i3 * spin, G * arm
    return 2.0 * c / (b + math.sqrt(b * b - 4.0 * a * c))


def elastica_droop(length=0.05, young=4e9, radius=4e-5, weight=6.5e-6 * G):
    """Of the tip of a clamped rod, B theta'' = w (l - s) cos theta, by shooting."""
    stiffness = young * math.pi / 4.0 * radius ** 4
    steps = 2000
    h = length / steps

    def shoot(slope):
        theta, height = 0.0, 0.0
        for k in range(steps):
            middle = theta + 0.5 * h * slope
            slope += h * weight * (length - h * (k + 0.5)) * math.cos(middle) / stiffness
            theta = middle + 0.5 * h * slope
            height += h * math.sin(middle)
        return slope, height

    low, high = -weight * length ** 2 / stiffness, 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if shoot(middle)[0] > 0.0:
            high = middle
        else:
            low = middle
    return -shoot(low)[1]


def droops(run):
    points = []
    for n in (10, 20, 40, 80):
        hair = run.last_points("hair%d_curves" % n)
        points.append((n, hair[0]["y"] - hair[-1]["y"]))
    return points


def bounces(t, height=1.0, restitution=0.8):
    """Of a ball that falls from rest."""
    fall = math.sqrt(2.0 * height / G)
    if t < fall:
        return height - 0.5 * G * t * t
    t -= fall
    speed = restitution * G * fall
    while t > 2.0 * speed / G:
        t -= 2.0 * speed / G
        speed *= restitution
    return speed * t - 0.5 * G * t * t


# ---- grains

BEVERLOO = 1.03 * 0.6 * 2500.0 * math.sqrt(G) * 0.08 * (0.2 - 1.4 * 0.02) ** 1.5  # kg/s, a bed of 60 %


def poured_out(run):
    """Mass that has left the silo since 0.2 s, when the bed has settled and flows."""
    points = [(t, m) for t, m in run.column("stats", "beads.mass") if t >= 0.2 - 1e-9]
    return [(t, points[0][1] - m) for t, m in points]


# ---- forces on bodies

WEIGHT = 1000.0 * G * math.pi * 0.15 ** 2


def held_disc(method, title, settings=()):
    return Case(
        name="held_disc_" + method, title="A disc held under water, " + title, scene="held_disc.lua",
        claim="water presses on a held disc with the weight that it displaces",
        size="2D, 12 particles or 7.5 cells across, means over a second", source="Archimedes", x="time [s]",
        y="upward force [N]",
        measured=lambda run: means(run.column("probes_load", "force_y"), 20), reference=lambda t: WEIGHT, limit=0.05,
        begin=1.0, settings=settings or ("water.method=" + method,))


def means(points, n):
    """Of n points each."""
    groups = [points[i:i + n] for i in range(0, len(points) - n + 1, n)]
    return [(sum(x for x, _ in g) / n, sum(y for _, y in g) / n) for g in groups]


# ---- SPHERIC benchmark 2: a dam break against a box

def smooth(points, width):
    """The running mean."""
    out = []
    for x, _ in points:
        near = [y for a, y in points if abs(a - x) <= 0.5 * width]
        out.append((x, sum(near) / len(near)))
    return out


def at_gauge(name, x):
    def read(run):
        return [(row["time"], row["height"]) for row in run.rows("probes_" + name) if abs(row["x"] - x) < 0.1]
    return read


def dam_break_box(method, title, size, settings, is_long=False):
    scene = {"is_long": is_long, "scene": "dam_break_box.lua", "size": size, "settings": settings,
             "source": "Kleefsman et al. 2005, SPHERIC benchmark 2", "x": "time [s]", "norm": "rms"}
    cases = [Case(name="dam_break_box_%s_%s" % (method, column), title="Dam break against a box, %s, %s" % (title, where),
                  claim="the water stands as high as measured %s" % where, y="height [m]",
                  measured=at_gauge(probe, x), reference=data("marin_dam_break.csv", "t", column), limit=0.07, **scene)
             for column, where, probe, x in (("h1488", "between box and dam", "gauges", 1.488),
                                             ("h992", "in front of the box", "gauges", 0.992),
                                             ("h496", "behind the box", "gauges", 0.496),
                                             ("h2638", "behind the dam", "dam", 2.638))]
    return cases + [
        Case(name="dam_break_box_%s_p1" % method, title="Dam break against a box, %s, pressure P1" % title,
             claim="running means of 0.1 s of the pressure on the box are those measured, after the impact",
             y="pressure [Pa]", measured=lambda run: smooth(run.column("probes_P1", "pressure"), 0.1),
             reference=smooth(data("marin_dam_break.csv", "t", "p1"), 0.1), limit=0.15, begin=0.5, end=1.95, **scene)]


ELASTICA = elastica_droop()

CASES = [
    Case(name="couette", title="Couette flow", scene="couette.lua",
         claim="between a wall at rest and one that slides the velocity grows linearly",
         size="2D, 20 particles across, Re 0.2", source="u(y) = U y / W", x="y [m]", y="velocity [m/s]",
         measured=channel, reference=lambda y: TOP_SPEED * y / WIDTH, limit=0.02),
    Case(name="poiseuille", title="Poiseuille flow", scene="poiseuille.lua",
         claim="between walls at rest the velocity is a parabola",
         size="2D, 40 particles across, Re 0.2", source="u(y) = g y (W - y) / 2 nu", x="y [m]",
         y="velocity [m/s]", measured=channel,
         reference=lambda y: 4.0 * TOP_SPEED * y * (WIDTH - y) / WIDTH ** 2, limit=0.02),
    Case(name="hydrostatic", title="Pressure at rest", scene="hydrostatic.lua",
         claim="the pressure of still water grows with depth by its weight, from the second layer of particles at "
               "the wall on (in the first it is 8 % too high)",
         size="2D, 20 particles deep, 2 s", source="p = rho g d", x="y [m]", y="pressure [Pa]",
         measured=lambda run: run.profile("depth", "y", "pressure", last=10),
         reference=lambda y: 1000.0 * G * (0.4 - y), limit=0.03, begin=0.02),
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
    standing_wave("flip", "FLIP", 0.2, ("water.spacing=0.005",), "5 mm"),
    standing_wave("level_set", "level set", 0.2),
    Case(name="open_top_dam", title="A dam below an open top", scene="open_top_dam.lua",
         claim="the mass of level-set water in a tank without a lid stays what it was",
         size="2D, cells of 4 cm, 10 s", source="conservation of mass", x="time [s]", y="mass over that of the start",
         measured=lambda run: [(t, m / 680.0) for t, m in run.column("stats", "water.mass")],
         reference=lambda t: 1.0, limit=0.02),
    held_disc("sph", "SPH"),
    held_disc("flip", "FLIP"),
    held_disc("level_set", "level set"),
    held_disc("marker", "marker cells"),
    Case(name="plate_in_stream", title="A plate in a stream", scene="plate_in_stream.lua",
         claim="a stream that hits a plate and leaves along it presses with rho v^2 w",
         size="2D, DFSPH, 16 particles across the stream", source="momentum", x="time [s]", y="force [N/m]",
         measured=lambda run: means(run.column("probes_load", "force_x"), 5), reference=lambda t: 800.0, limit=0.05,
         begin=0.06, end=0.2),
    # spacings of which whole numbers fill the dam within 0.3 % of its height and 1.2 % of its volume
    *dam_break_box("flip", "FLIP", "box of 8 particles across, 2 s",
                   ("water.method=flip", "water.spacing=0.019607", "grid.cell=0.04")),
    *dam_break_box("level_set", "level set", "box of 5 cells across, 2 s",
                   ("water.method=level_set", "grid.cell=0.0322")),
    *dam_break_box("dfsph", "DFSPH", "box of 6 particles across, 2 s",
                   ("water.method=sph", "sph.solver=dfsph", "water.spacing=0.026127")),
    *dam_break_box("sph", "SPH", "box of 8 particles across, 2 s", ("water.method=sph", "water.spacing=0.019607"),
                   is_long=True),
    taylor_green("gas", "gas", "taylor_green.lua", "gas", 0.01, "2D, 64 x 64 cells"),
    taylor_green("dfsph", "DFSPH", "taylor_green_liquid.lua", "water", 0.1, "2D, 50 x 50 particles"),
    taylor_green("flip", "FLIP", "taylor_green_liquid.lua", "water", 0.02, "2D, 64 x 64 cells, four particles in each",
                 ("water.method=flip", "water.spacing=0.0078125", "grid.cell=0.015625")),
    cavity("cavity_gas", "cavity_grid.lua", 1000, "u", 0.006, "2D, 128 x 128 cells, 40 s"),
    cavity("cavity_gas", "cavity_grid.lua", 1000, "v", 0.006, "2D, 128 x 128 cells, 40 s"),
    cavity("cavity_gas_re3200", "cavity_grid.lua", 3200, "u", 0.02, "2D, 128 x 128 cells, 140 s",
           ("gas.viscosity=0.0003125", "output.frames=140")),
    cavity("cavity_gas_re3200", "cavity_grid.lua", 3200, "v", 0.02, "2D, 128 x 128 cells, 140 s",
           ("gas.viscosity=0.0003125", "output.frames=140")),
    box_of_smoke("smoke"),
    box_of_smoke("heat"),
    cavity("cavity_sph", "cavity_re100.lua", 100, "u", 0.05, "2D, 40 x 40 particles, 20 s"),
    Case(name="silo", title="A silo empties", scene="silo.lua",
         claim="beads leave a silo through a slot at the rate of Beverloo's law",
         size="3,360 spheres, slot of 10 d, mu = 0.5, 0.4 s", source="Beverloo et al. 1961, a bed of 60 %",
         x="time [s]", y="mass that has left [kg]", measured=poured_out,
         reference=lambda t: BEVERLOO * (t - 0.2), limit=0.1),
    Case(name="cradle", title="Newton's cradle", scene="cradle.lua",
         claim="the last of five balls that touch leaves with the speed of the first", size="restitution 1",
         source="momentum and energy, ball by ball", x="ball", y="speed after the blow [m/s]",
         measured=speeds_of_balls, reference=lambda i: 1.0 if i == 5 else 0.0, limit=0.05, is_discrete=True),
    Case(name="top_tilt", title="A top keeps its tilt", scene="spinning_top.lua",
         claim="a top on its tip in steady precession keeps its tilt", size="5 cm, 300 rad/s, 2 s",
         source="Goldstein, section 5.7", x="time [s]", y="tilt [deg]", measured=tilt_of_top,
         reference=lambda t: 20.0, limit=2.0, scale=1.0),
    Case(name="top_precession", title="A top precesses", scene="spinning_top.lua",
         claim="its axis goes round at the rate of theory", size="5 cm, 300 rad/s, 2 s",
         source="Goldstein, section 5.7", x="time [s]", y="angle [rad]", measured=turn_of_top,
         reference=lambda t: rate_of_top() * t, limit=0.03),
    Case(name="incline", title="A box on a slope", scene="incline.lua",
         claim="a box slides down a slope with the acceleration of weight less friction",
         size="30 degrees, friction 0.3, 1.5 s", source="x = (sin a - mu cos a) g t^2 / 2", x="time [s]", y="way [m]",
         measured=lambda run: run.column("probes_way", "x"),
         reference=lambda t: 0.5 * G * (0.5 - 0.3 * math.cos(math.radians(30.0))) * t * t, limit=0.01),
    Case(name="bounce", title="A bouncing ball", scene="bounce.lua",
         claim="each bounce of a ball comes to e^2 of the height before", size="restitution 0.8, 2.5 s",
         source="free fall between bounces", x="time [s]", y="height [m]",
         measured=lambda run: [(t, y - 0.05) for t, y in run.column("probes_path", "y")], reference=bounces, limit=0.02,
         norm="rms"),
    Case(name="hair_elastica", title="Hair hangs as the elastica", scene="hair_elastica.lua",
         claim="a clamped hair droops as the elastica of its modulus and radius, for any number of segments",
         size="5 cm, 10 to 80 segments", source="Love 1927, section 262", x="segments", y="droop of the tip [m]",
         measured=droops, reference=lambda n: ELASTICA, limit=0.05, is_discrete=True),
]

# scenes without a curve: what they are for stands in them
NOT_PLOTTED = ("cavity_re400.lua", "couette_fractional.lua", "mps_crate.lua",
               "two_fluids.lua")
