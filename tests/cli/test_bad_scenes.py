#!/usr/bin/env python3
"""Every scene in scenes/bad is refused within seconds, with the sentence and exit code it names:

    -- expect: words of the sentence
    -- exit: 3
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import PROGRAM, SCENES, need_program, read  # noqa: E402

SECONDS_MOST = 20  # on a busy machine; by itself none takes more than a few


def check(path):
    """What is wrong with how the program meets this scene; None when all is well."""
    head = "\n".join(read(path).splitlines()[:10])
    expect = re.search(r"^-- expect: (\S.{5,})$", head, re.M)
    status = re.search(r"^-- exit: (\d+)$", head, re.M)
    if not expect or not status:
        return "has no '-- expect:' line that says anything, or no '-- exit:' line"
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kelpie-") as folder:
        try:
            done = subprocess.run([PROGRAM, "run", path, "-o", os.path.join(folder, "out")],
                                  capture_output=True, text=True, timeout=SECONDS_MOST, check=False,
                                  errors="replace")
        except subprocess.TimeoutExpired:
            return "was not refused within %d s" % SECONDS_MOST
        if os.path.exists(os.path.join(folder, "out")):
            return "left a run folder behind"
    told = "after %.1f s: exit %d, %s" % (time.monotonic() - start, done.returncode,
                                          done.stderr.strip()[:400])
    lines = [x for x in done.stderr.splitlines() if not x.startswith("kelpie: warning: ")]
    if done.returncode != int(status.group(1)):
        return "wanted exit %s; %s" % (status.group(1), told)
    if expect.group(1).strip() not in done.stderr:
        return "wanted \"%s\"; %s" % (expect.group(1), told)
    if len(lines) != 1 or not lines[0].startswith("kelpie: "):
        return "wanted one sentence; " + told
    return None


def main():
    need_program()
    bad = os.path.join(SCENES, "bad")
    names = sorted(name for name in os.listdir(bad) if name.endswith(".lua"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda name: check(os.path.join(bad, name)), names))
    for name, answer in zip(names, answers):
        if answer:
            print("%s: %s" % (name, answer))
    n_wrong = sum(answer is not None for answer in answers)
    print("%d scenes, %d not refused as they should be" % (len(names), n_wrong))
    return 1 if n_wrong or len(names) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
