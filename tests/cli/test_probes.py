#!/usr/bin/env python3
"""Probe tables of runs: what they hold, and that a resumed run goes on with them."""

import csv
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import PROGRAM, need_program, read  # noqa: E402

SCENE = """
domain { dimension = 2, max = {1, 1}, boundary_x = "periodic", boundary_y = "periodic" }
gravity { 0, 0, 0 }
simulation { dt = 0.002, seed = %(seed)d }
sph { integrator = "euler" }
liquid "water" {
  spacing = 0.05, viscosity = %(viscosity)g, sound_speed = 5, jitter = 0.2,
  shape = box { min = {0, 0, -1}, max = {1, 1, 1} },
}
force "right" { shape = sphere { center = {0.25, 0.5, 0}, radius = 0.15 }, acceleration = {3, 0, 0} }
force "left" { shape = sphere { center = {0.75, 0.5, 0}, radius = 0.15 }, acceleration = {-3, 0, 0} }
probe "grid" { of = "water", min = {0.1, 0.1, 0}, max = {0.9, 0.9, 0}, counts = {4, 3, 1}, radius = 0.1 }
probe "tagged" { of = "water", kind = "track", particle = 210, every = 5 }
output { frames = 6, fps = 50 }
"""


def run(*arguments, ok=True):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    assert not ok or done.returncode == 0, "kelpie %s: %s" % (" ".join(arguments), done.stderr)
    return done


def table(path):
    with open(path, encoding="utf-8") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def simulate(folder, name, viscosity=0.5, seed=1):
    scene = os.path.join(folder, name + ".lua")
    with open(scene, "w", encoding="utf-8") as file:
        file.write(SCENE % {"viscosity": viscosity, "seed": seed})
    out = os.path.join(folder, name)
    run("run", scene, "-o", out, "--threads", "1")
    return out


def test_tables(folder):
    out = simulate(folder, "whole")
    rows = table(os.path.join(out, "probes_grid.csv"))
    assert len(rows) == 12 * 61, len(rows)
    assert [row["region"] for row in rows[:13]] == [*range(12), 0]
    assert rows[0]["step"] == 0 and rows[-1]["step"] == 60 and rows[-1]["frame"] == 6
    assert abs(rows[-1]["time"] - 0.12) < 1e-9
    assert all(row["count"] > 0 for row in rows)
    middle = [row for row in rows if row["step"] == 60 and row["region"] in (5, 6)]
    assert max(abs(row["velocity_x"]) for row in middle) > 0.05, middle
    path = table(os.path.join(out, "probes_tagged.csv"))
    assert [row["step"] for row in path] == list(range(0, 61, 5))
    assert all(row["count"] == 1 for row in path)


def test_resume(folder):
    """Stopped, gone on with, and cut back from beyond the checkpoint: the same bytes."""
    whole = os.path.join(folder, "whole")
    cut = os.path.join(folder, "cut")
    run("run", whole + ".lua", "-o", cut, "--threads", "1", "--frames", ":3")
    with open(os.path.join(cut, "probes_grid.csv"), "a", encoding="utf-8") as file:
        file.write("4,31,0.062,0,0.1,0.1,0,7,9,9,9,9\n")  # of a frame that was never kept
    run("resume", cut, "--frames", ":6", "--threads", "1")
    for name in ("probes_grid.csv", "probes_tagged.csv", "stats.csv"):
        assert read(os.path.join(whole, name)) == read(os.path.join(cut, name)), name


def main():
    need_program()
    with tempfile.TemporaryDirectory(prefix="kelpie-") as folder:
        for name, test in sorted(globals().items(), key=lambda item: getattr(
                item[1], "__code__", main.__code__).co_firstlineno):
            if name.startswith("test_"):
                test(folder)
                print("ok", name)


if __name__ == "__main__":
    main()
