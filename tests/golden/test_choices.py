#!/usr/bin/env python3
"""Every word a scene may choose occurs in a golden case, and changes its state.

The words are those of `kelpie params`; what the cases use, `test_golden --used` tells with every
value written out. A word that changes nothing is not exercised: cases of one scene must differ.
"""

import collections
import os
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
from program import PROGRAM, SOURCE, main  # noqa: E402

GOLDEN = os.path.join(os.environ.get("KELPIE_BINARY_DIR", os.path.join(SOURCE, "build")), "tests",
                      "test_golden")

# pictures are no part of the state
PICTURES = ("render", "look")

# cases of one scene whose states are the same, and why they may be
ALIKE = {
    ("sph", "sph_policy_warn", "sph_policy_stop"):
        "the policy is for trouble, of which there is none; test_world makes some",
    ("cloth", "cloth_body_triangles_all", "cloth_solver_sweeps"):
        "what auto chooses here is all and sweeps",
    ("cloth_grid", "cloth_grid_scheme_symplectic"):
        "position_verlet is the symplectic rule where no limit moves nodes; cloth_limit has one",
    ("cloth_limit_walk_literal", "cloth_limit_order_vhs"):
        "with the upper edge held both orders walk the same list (test_fabric compares lists)",
    ("cloth_limit_order_shv", "cloth_limit_order_svh"):
        "as hvs and vhs",
}


def words_of_parameters():
    """{(entity, key): [word, ...]} of all keys that take one of several words."""
    done = subprocess.run([PROGRAM, "params"], capture_output=True, text=True, check=True)
    words, entity = {}, None
    for line in done.stdout.splitlines():
        head = re.match(r"(?:shape = )?([a-z_.]+)(?: \"name\")? \{ \}", line)
        row = re.match(r"  (\w+)\s+\"[\w-]*\"\s+\[([\w-]+(?:, [\w-]+)+)\]", line)
        if head:
            entity = head.group(1)
        elif row and entity not in PICTURES:
            words[entity, row.group(1)] = row.group(2).split(", ")
    return words


def words_of_cases():
    """{(entity, key): {word, ...}} of all cases, defaults included."""
    done = subprocess.run([GOLDEN, "--used"], capture_output=True, text=True, check=True,
                          env=dict(os.environ, KELPIE_SOURCE_DIR=SOURCE))
    used, entity = collections.defaultdict(set), None
    for line in done.stdout.splitlines():
        head = re.match(r"(\w+)(?: \"[^\"]*\")? \{$", line)
        inner = re.match(r"  (\w+) = \{$", line)
        row = re.match(r"(?:  )+(\w+) = \"([\w-]*)\",", line)
        if head:
            entity = head.group(1)
        elif inner:
            entity = "%s.%s" % (entity, inner.group(1))
        elif row:
            used[entity, row.group(1)].add(row.group(2))
    return used


def rows(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
    return [line.split(",", 3) for line in lines[1:]]


class Choices(unittest.TestCase):
    def test_every_word_is_used(self):
        words, used = words_of_parameters(), words_of_cases()
        self.assertGreater(len(words), 60)
        missing = ["%s.%s = %s" % (*place, word) for place, choices in words.items()
                   for word in choices if word not in used[place]]
        self.assertFalse(missing, "in no line of tests/golden/cases.csv:\n" + "\n".join(missing))

    def test_cases_of_a_scene_differ(self):
        hashes = {name: value for name, precision, _, value in rows("hashes.csv")
                  if precision == "float"}
        alike = collections.defaultdict(list)
        cases = rows("cases.csv")
        self.assertEqual([name for name, *_ in cases if name not in hashes], [],
                         "not in hashes.csv; see tools/golden --update")
        for name, scene, steps, _ in cases:
            alike[scene, steps, hashes[name]].append(name)
        found = {tuple(names) for names in alike.values() if len(names) > 1}
        self.assertEqual(found - set(ALIKE), set(), "cases that change nothing")
        self.assertEqual(set(ALIKE) - found, set(), "named as alike, and are not")

    def test_every_demo_is_a_case(self):
        scenes = {scene for _, scene, _, _ in rows("cases.csv")}
        demos = sorted(name for name in os.listdir(os.path.join(SOURCE, "scenes", "demo"))
                       if name.endswith(".lua") and "scenes/demo/" + name not in scenes)
        self.assertEqual(demos, [])


if __name__ == "__main__":
    if not os.path.exists(GOLDEN):
        print("the program was not built: " + GOLDEN)
        sys.exit(77)
    main()
