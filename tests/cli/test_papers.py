#!/usr/bin/env python3
"""Every scene of scenes/papers is read and filled, stands in counts.csv, and holds the particles, wall
samples and grid cells its dissertation states, within 5 percent. What emitters will give counts too."""

import concurrent.futures
import csv
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import PROGRAM, SCENES, need_program  # noqa: E402

TOLERANCE = 0.05


def counts_of(path):
    """Particles (emitters included), samples and cells that `kelpie check` finds; a sentence when it fails."""
    done = subprocess.run([PROGRAM, "check", path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, "is refused: " + done.stderr.strip()
    particles = re.search(r"^particles +(\d+)(?:, and up to (\d+) from emitters)?", done.stdout, re.M)
    samples = re.search(r"^samples +(\d+)", done.stdout, re.M)
    cells = re.search(r"^cells +(\d+)", done.stdout, re.M)
    return (int(particles[1]) + int(particles[2] or 0), int(samples[1]),
            int(cells[1]) if cells else 0), None


def compare(row):
    counts, trouble = counts_of(os.path.join(SCENES, "papers", row["scene"]))
    if trouble:
        return trouble
    for word, count in zip(("particles", "samples", "cells"), counts):
        stated = row[word]
        if stated and abs(count / int(stated) - 1.0) > TOLERANCE:
            return "has %d %s, stated are %s" % (count, word, stated)
    print("%s: %d particles, %d samples, %d cells" % (row["scene"], *counts))
    return None


def main():
    need_program()
    papers = os.path.join(SCENES, "papers")
    with open(os.path.join(papers, "counts.csv"), encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    scenes = sorted(os.path.relpath(os.path.join(folder, name), papers)
                    for folder, _, names in os.walk(papers) for name in names
                    if name.endswith(".lua") and os.path.basename(folder) != "parts")
    wrong = ["%s is not in counts.csv" % s for s in scenes if s not in {r["scene"] for r in rows}]
    wrong += ["%s is in counts.csv only" % r["scene"] for r in rows if r["scene"] not in scenes]
    known = [row for row in rows if row["scene"] in scenes]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for row, trouble in zip(known, pool.map(compare, known)):
            if trouble:
                wrong.append("%s %s" % (row["scene"], trouble))
    print("\n".join(wrong) or "all %d scenes as stated" % len(rows))
    return 1 if wrong else 0


sys.exit(main())
