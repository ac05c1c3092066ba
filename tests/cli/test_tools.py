#!/usr/bin/env python3
"""The programs of tools that hold runs against something: validation, whole, and forecast."""

import json
import os
import re
import stat
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import PROGRAM, SOURCE, Case, claims, environment, main, read, write  # noqa: E402

# quick ones, of bodies, hair and liquids
VALIDATED = ["cradle", "bounce", "incline", "hair_elastica", "couette", "hydrostatic"]
QUIET = """domain {{ max = {{2, 2, 2}} }}
body "{0}" {{ shape = {0} {{ {1} }}, density = 500, position = {{1, 0.5, 1}}, velocity = {{0, 2, 0}} }}
output {{ frames = 40 }}
"""


class Tools(Case):
    def tool(self, *words, program=PROGRAM, status=0):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "tools", words[0]), *words[1:]], cwd=self.folder,
                              env=environment({"KELPIE_PROGRAM": program}), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def stand_in(self, name, text):
        """A program in place of the one under test."""
        write("#!/bin/sh\n" + text, self.folder, name)
        os.chmod(self.path(name), stat.S_IRWXU)
        return self.path(name)

    def result(self, folder, case):
        with open(os.path.join(folder, "kelpie-validation-%s.json" % case), encoding="utf-8") as file:
            return json.load(file)

    def test_validation(self):
        """Cases run whole, into a folder, come to the verdicts on file."""
        on_file = os.path.join(SOURCE, "claims", "results")
        kept = [os.path.join(SOURCE, "docs", "validation.md")] + [
            os.path.join(on_file, "kelpie-validation-%s.json" % case) for case in VALIDATED]
        before = [os.stat(path).st_mtime_ns for path in kept]
        out, _ = self.tool("validation", *VALIDATED, "--out", "v")
        self.assertEqual([line.split()[0] for line in out.splitlines()], VALIDATED)
        page = read(self.folder, "v/validation.md")
        self.assertEqual(len(re.findall(r"(?m)^!\[.*\]\(validation/(\w+)\.svg\)$", page)), len(VALIDATED))
        for case in VALIDATED:
            ours, theirs = self.result(self.path("v/results"), case), self.result(on_file, case)
            self.assertEqual(claims.judge(ours["checks"]), claims.judge(theirs["checks"]), case)
            self.assertEqual([(c["what"], c["relation"], c["threshold"]) for c in ours["checks"]],
                             [(c["what"], c["relation"], c["threshold"]) for c in theirs["checks"]], case)
            self.assertIn("</svg>", read(self.folder, "v/validation/%s.svg" % case))
        self.assertEqual([os.stat(path).st_mtime_ns for path in kept], before)

    def test_validation_that_differs(self):
        """Physics that is another one, a run that fails and a case that nobody knows are told by the status."""
        softer = self.stand_in("softer", 'if [ "$1" = run ]; then set -- "$@" --set ball.restitution=0.3; fi\n'
                               'exec "%s" "$@"\n' % PROGRAM)
        out, _ = self.tool("validation", "bounce", "--out", "v", program=softer, status=1)
        self.assertRegex(out, "(?m)^bounce +refuted .*; on file: confirmed$")
        _, err = self.tool("validation", "bounce", "--out", "v", status=1,
                           program=self.stand_in("failing", "echo no luck >&2; exit 3\n"))
        self.assertRegex(err, "bounce: kelpie run failed: no luck")
        self.assertRegex(self.tool("validation", "bouncy", status=2)[1], "no case runs bouncy")

    def test_forecast(self):
        """Every scene has a ratio of time told and taken; how good it is depends on the machine."""
        for name, words in (("sphere", "radius = 0.1"), ("box", "max = {0.2, 0.2, 0.2}")):
            write(QUIET.format(name, words), self.folder, name + ".lua")
        out, _ = self.tool("forecast", "sphere.lua", "box.lua", "--factor", "1e6")
        ratios = re.findall(r"(?m)^(\w+) +([\d.e+-]+) s told, +([\d.e+-]+) s taken, +([\d.]+)$", out)
        self.assertEqual([row[0] for row in ratios], ["sphere", "box"], out)
        for _, told, taken, ratio in ratios:
            self.assertGreater(float(taken), 0.0)
            # both are printed with three digits, the ratio with two decimals
            self.assertAlmostEqual(float(ratio), float(told) / float(taken), delta=0.006 + 0.02 * float(ratio))
        self.assertRegex(out, r"(?m)^2 scenes, 0 off by more than a factor of 1e\+06; typical factor [\d.]+, worst")
        write("domain { max = {1, 1, 1} }\n", self.folder, "empty.lua")
        out, _ = self.tool("forecast", "empty.lua", status=1)
        self.assertRegex(out, "(?m)^empty +kelpie check .*nothing can ever move")


if __name__ == "__main__":
    main()
