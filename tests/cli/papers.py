"""The scenes of scenes/papers and what scenes/papers/counts.csv says of them.

Columns: particles (nodes of cloth and hair, charges and what emitters will give included), samples of walls,
and grid cells, where the dissertation or the spec states them; `stated` says where. `reduced` are words that
make the scene cheap enough for a look at every landing: key=value for --set, or name=value for a local variable
of the scene. output.fps alone makes frames long enough for an emitter; the scene keeps its size."""

import csv
import os
import re
import shutil
import subprocess

from program import PROGRAM, SCENES, environment

PAPERS = os.path.join(SCENES, "papers")
COUNTS = ("particles", "samples", "cells")
TOLERANCE = 0.05


def read_rows():
    with open(os.path.join(PAPERS, "counts.csv"), encoding="utf-8") as table:
        return list(csv.DictReader(table))


def scenes():
    return sorted(os.path.relpath(os.path.join(folder, name), PAPERS)
                  for folder, _, names in os.walk(PAPERS) for name in names
                  if name.endswith(".lua") and os.path.basename(folder) != "parts")


def run(words, timeout=None):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, timeout=timeout,
                          env=environment({"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}))


def counts_of(path, words=()):
    """What `kelpie check` finds, by the names of COUNTS; a sentence when it fails."""
    done = run(["check", path, "--pilot", "0", *words])
    if done.returncode != 0:
        return None, "is refused: " + done.stderr.strip()
    particles = re.search(r"^particles +(\d+)(?:, and up to (\d+) from emitters)?", done.stdout, re.M)
    samples = re.search(r"^samples +(\d+)", done.stdout, re.M)
    cells = re.search(r"^cells +(\d+)", done.stdout, re.M)
    counts = (int(particles[1]) + int(particles[2] or 0), int(samples[1]), int(cells[1]) if cells else 0)
    return dict(zip(COUNTS, counts)), None


def differs(row, counts):
    """A sentence where a count is not the stated one."""
    for word in COUNTS:
        if row[word] and abs(counts[word] / int(row[word]) - 1.0) > TOLERANCE:
            return "has %d %s, stated are %s" % (counts[word], word, row[word])
    return None


def is_reduced(row):
    return any(not word.startswith("output.fps=") for word in row["reduced"].split())


def stated_size(row):
    return sum(int(row[word] or 0) for word in COUNTS)


def reduce(row, folder):
    """The path of a scene that is small, and the words for --set; copies the scene where a local changes."""
    path, sets, author = os.path.join(PAPERS, row["scene"]), [], os.path.dirname(row["scene"])
    with open(path, encoding="utf-8") as file:
        text = before = file.read()
    for word in row["reduced"].split():
        name, value = word.split("=")
        if "." in name:
            sets += ["--set", word]
            continue
        names = name.replace(",", ", ")
        text, n = re.subn(r"^local %s = .*?(?=$| *--)" % re.escape(names),
                          "local %s = %s" % (names, value.replace(",", ", ")), text, flags=re.M)
        if n != 1:
            raise ValueError("%s has %d locals %s" % (row["scene"], n, name))
    if text == before:
        return path, sets
    home = os.path.join(folder, author)
    os.makedirs(home, exist_ok=True)
    for shared in ("meshes", "parts"):
        if os.path.isdir(os.path.join(PAPERS, author, shared)):
            shutil.copytree(os.path.join(PAPERS, author, shared), os.path.join(home, shared), dirs_exist_ok=True)
    path = os.path.join(folder, row["scene"])
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path, sets
