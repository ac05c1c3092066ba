#!/usr/bin/env python3
"""Every scene of scenes/papers stands in counts.csv, is read and filled, and holds the particles, wall samples
and grid cells its dissertation states, within 5 percent. What emitters will give counts too.

Scenes of more than LARGE of these are filled at their stated size by test_papers_run_stated, and here in the
reduced size of counts.csv."""

import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import papers  # noqa: E402
from program import need_program  # noqa: E402

LARGE = 100000


def compare(row, folder):
    """A sentence where a scene is refused or is not of the stated size."""
    is_large = papers.stated_size(row) > LARGE
    path, sets = papers.reduce(row, folder) if is_large else (os.path.join(papers.PAPERS, row["scene"]), [])
    counts, trouble = papers.counts_of(path, sets)
    if trouble:
        return trouble
    print("%s: %s%s" % (row["scene"], ", ".join("%d %s" % (counts[word], word) for word in papers.COUNTS),
                        ", reduced" if is_large else ""), flush=True)
    return None if is_large else papers.differs(row, counts)


def main():
    need_program()
    rows, scenes = papers.read_rows(), papers.scenes()
    wrong = ["%s is not in counts.csv" % s for s in scenes if s not in {r["scene"] for r in rows}]
    wrong += ["%s is in counts.csv only" % r["scene"] for r in rows if r["scene"] not in scenes]
    wrong += ["%s is large and has no reduced size" % r["scene"] for r in rows
              if papers.stated_size(r) > LARGE and not r["reduced"]]
    for row in rows:
        if row["scene"] in scenes:
            with tempfile.TemporaryDirectory(prefix="kelpie-") as folder:
                trouble = compare(row, folder)
            if trouble:
                wrong.append("%s %s" % (row["scene"], trouble))
    print("\n".join(wrong) or "all %d scenes as stated" % len(rows))
    return 1 if wrong else 0


sys.exit(main())
