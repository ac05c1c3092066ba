#!/usr/bin/env python3
"""Every scene of scenes/papers takes real steps: it ends well, writes its frames, stays finite, moves.

At every landing the large scenes are reduced (column `reduced` of counts.csv) and a frame is four milliseconds,
so a few sub-steps. With KELPIE_PAPERS=stated all have the stated size and take their own first frames, and the
counts are compared too, with all cores. Words name scenes to run: test_papers_run.py selle/drop.lua."""

import collections
import math
import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import papers  # noqa: E402
from program import claims, need_program, rows  # noqa: E402

IS_STATED = os.environ.get("KELPIE_PAPERS") == "stated"
FRAMES = 2 if IS_STATED else 3
FAST = 250  # frames per second: a frame is four milliseconds
CLAIMS = {"bayraktar": "bayraktar-B58", "lyes": "lyes-L68", "ozgen": "ozgen-papers", "selle": "selle-papers",
          "hong": "hong-papers"}
MEASURED = ("mass", "kinetic_energy", "potential_energy", "min_x", "min_y", "min_z", "max_x", "max_y", "max_z",
            "max_speed")


def look_at_stats(table):
    """A sentence where steps are missing, nothing is there, or a measured value is not finite."""
    if len(table) != FRAMES + 1:
        return "has %d frames in stats.csv" % len(table)
    if min(int(row["substeps"]) for row in table[1:]) < 1:
        return "took no steps"
    last = table[-1]
    if sum(int(last[key]) for key in last if key.endswith(".count")) == 0:
        return "holds nothing after %d frames" % FRAMES
    parts = {key.rsplit(".", 1)[0] for key in last if key.endswith(".count")}
    for row in table:
        for part in sorted(parts):
            is_gas = part + ".air_mass" in row  # its own mass is that of the smoke, which has none
            for word in MEASURED:
                word = "air_mass" if is_gas and word == "mass" else word
                if int(row[part + ".count"]) > 0 and not math.isfinite(float(row["%s.%s" % (part, word)])):
                    return "has %s.%s = %s in frame %s" % (part, word, row["%s.%s" % (part, word)], row["frame"])
    return None


def look_at_counts(row, path, sets):
    """A sentence where the scene is not of the stated size, or not smaller when it is said to be."""
    if not IS_STATED and not papers.is_reduced(row):
        return None  # test_papers counts it
    counts, trouble = papers.counts_of(path, sets)
    if trouble:
        return trouble
    if IS_STATED:
        return papers.differs(row, counts)
    # what emitters will give is counted too and is not fewer: one smaller count is enough
    if not any(row[word] and 0 < counts[word] < 0.5 * int(row[word]) for word in papers.COUNTS):
        return "is said to be reduced, and has %s" % counts
    return None


def try_scene(row, folder):
    """Runs it; a sentence when something is wrong, and the sub-steps taken."""
    if IS_STATED:
        path, sets = os.path.join(papers.PAPERS, row["scene"]), []
        more = ["--threads", str(os.cpu_count())]
    else:
        path, sets = papers.reduce(row, folder)
        more = []
        if "output.fps=" not in row["reduced"]:
            sets = [*sets, "--set", "output.fps=%d" % FAST]
    out = os.path.join(folder, "out")
    done = papers.run(["run", path, "-o", out, "--frames", ":%d" % FRAMES, "--progress", "none", *more, *sets])
    if done.returncode != 0:
        return "ends with %d: %s" % (done.returncode, done.stderr.strip()), 0
    if len(os.listdir(os.path.join(out, "frames"))) != FRAMES + 1:
        return "has not written its frames", 0
    table = rows(out, "stats.csv")
    trouble = look_at_stats(table)
    if trouble is None:
        hashes = [papers.run(["info", out, "--hash", "--frame", str(frame)]).stdout for frame in (0, FRAMES)]
        if "" in hashes or hashes[0] == hashes[1]:
            trouble = "has not moved"
    return trouble or look_at_counts(row, path, sets), sum(int(line["substeps"]) for line in table)


def record(author, known, ran, steps):
    all_of = sum(row["scene"].startswith(author + "/") for row in known)
    n_stated = sum(1 for row in ran if IS_STATED or not papers.is_reduced(row))
    checks = [claims.check("scenes that took real steps, moved and stayed finite", len(ran), ">=", all_of),
              claims.check("scenes at their stated size", n_stated, ">=", all_of),
              claims.check("fewest sub-steps of a scene", min(steps, default=0), ">=", FRAMES)]
    if IS_STATED:
        claims.write_from_test(CLAIMS[author], "every scene takes real steps at its stated size",
                               "%d scenes, %d frames each" % (all_of, FRAMES), checks)
    else:
        claims.write_from_test(CLAIMS[author] + "-reduced", "every scene takes real steps",
                               "%d scenes, %d of them reduced, %d frames of %g ms each" %
                               (all_of, all_of - n_stated, FRAMES, 1000 / FAST), checks)


def main():
    need_program()
    known = papers.read_rows()
    chosen = [row for row in known if row["scene"] in sys.argv[1:] or not sys.argv[1:]]
    if not chosen or len(chosen) < len(sys.argv[1:]):
        print("there is no such scene in counts.csv: " + " ".join(sys.argv[1:]))
        return 1
    wrong, ran, steps = [], collections.defaultdict(list), collections.defaultdict(list)
    for row in chosen:
        with tempfile.TemporaryDirectory(prefix="kelpie-") as folder:
            start = time.monotonic()
            trouble, n_steps = try_scene(row, folder)
        print("%-40s %6.2f s  %5d sub-steps  %s" % (row["scene"], time.monotonic() - start, n_steps, trouble or ""),
              flush=True)
        author = os.path.dirname(row["scene"])
        if trouble:
            wrong.append(row["scene"])
        else:
            ran[author].append(row)
            steps[author].append(n_steps)
    if not sys.argv[1:]:
        for author in CLAIMS:
            record(author, known, ran[author], steps[author])
    print("%d of %d scenes took real steps" % (len(chosen) - len(wrong), len(chosen)))
    return 1 if wrong else 0


sys.exit(main())
