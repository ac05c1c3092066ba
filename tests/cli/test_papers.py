#!/usr/bin/env python3
"""Every scene of scenes/papers stands in counts.csv, is read and filled, and holds the particles, wall samples
and grid cells its dissertation states, within 5 percent. What emitters will give counts too.

Scenes that are reduced at landings are filled at their stated size by test_papers_run_stated."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import papers  # noqa: E402
from program import need_program  # noqa: E402

LEAST = 50  # scenes of full size, and numbers that dissertations state of them


def compare(row):
    """A sentence where a scene is refused or is not of the stated size."""
    counts, trouble = papers.counts_of(os.path.join(papers.PAPERS, row["scene"]))
    if trouble:
        return trouble
    print("%s: %s" % (row["scene"], ", ".join("%d %s" % (counts[word], word) for word in papers.COUNTS)), flush=True)
    return papers.differs(row, counts)


def main():
    need_program()
    rows, scenes, n_full, n_counts = papers.read_rows(), papers.scenes(), 0, 0
    wrong = ["%s is not in counts.csv" % s for s in scenes if s not in {r["scene"] for r in rows}]
    wrong += ["%s is in counts.csv only" % r["scene"] for r in rows if r["scene"] not in scenes]
    for row in rows:
        if row["scene"] in scenes and not papers.is_reduced(row):
            trouble = compare(row)
            n_full += 1
            n_counts += sum(bool(row[word]) for word in papers.COUNTS)
            if trouble:
                wrong.append("%s %s" % (row["scene"], trouble))
    if min(n_full, n_counts) < LEAST:
        wrong.append("only %d scenes were filled, %d counts compared" % (n_full, n_counts))
    print("\n".join(wrong) or "all as stated")
    return 1 if wrong else 0


sys.exit(main())
