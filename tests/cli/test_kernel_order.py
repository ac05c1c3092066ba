#!/usr/bin/env python3
"""Every kernel of the library forwards and backwards, to the last bit (`kelpie bench kernels` on the mirror
backend), and how many of them the record of a GPU knows (bench/results/nvidia-h200/kernels*.txt)."""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import PROGRAM, SOURCE, claims, need_program, read  # noqa: E402

RECORDS = [os.path.join("bench", "results", "nvidia-h200", name) for name in ("kernels.txt", "kernels_double.txt")]


def rows_of(text):
    """What the table says of each kernel: name to verdict."""
    return {found[1]: found[2] for found in re.finditer(r"^(\w+\.\w+) .* (\S+)$", text, re.M)}


def main():
    need_program()
    done = subprocess.run([PROGRAM, "bench", "kernels", "--backend", "mirror", "--size", "6000"],
                          capture_output=True, text=True, check=False)
    rows = rows_of(done.stdout)
    wrong = sorted(name for name, word in rows.items() if word != "ok")
    verdict = claims.write_from_test(
        "bayraktar-B52", "every kernel is a pass whose elements write nothing but themselves",
        "each kernel of the library forwards and backwards, mirror backend",
        [claims.check("kernels whose bits depend on the order", len(wrong), "<=", 0),
         claims.check("kernels that ran", len(rows), ">=", 600)])
    records = [rows_of(read(SOURCE, path)) for path in RECORDS]
    off = sum(word != "ok" for record in records for word in record.values())
    unknown = sorted(set(rows) - set.intersection(*(set(record) for record in records)))
    claims.write_from_test(
        "bayraktar-B53", "kernels give on a GPU what they give on the CPU, in float and in double",
        "record of an H200 in bench/results/nvidia-h200, against the kernels of today",
        [claims.check("kernels that were off on the GPU", off, "<=", 0),
         claims.check("kernels that were compared there", min(map(len, records)), ">=", 600),
         claims.check("kernels of today that were not", len(unknown), "<=", 0)])
    print("%d kernels, %d wrong; not in the record of the GPU: %s" % (
        len(rows), len(wrong), " ".join(unknown) or "none"))
    print("\n".join(wrong))
    return done.returncode or int(verdict != "confirmed")


sys.exit(main())
