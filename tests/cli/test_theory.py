#!/usr/bin/env python3
"""The theory page of fluids has what it is there for: the equations, both views of a flow, where SPH comes
from, works to read, and links that lead somewhere."""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import SOURCE, claims, read  # noqa: E402

PAGE = os.path.join("docs", "theory", "fluids.md")
TOPICS = [r"\\frac\{D\\rho\}\{Dt\} = -\\rho", r"\\frac\{D\\mathbf v\}\{Dt\} = .*\\nu\\nabla\^2\\mathbf v", "Navier and Stokes",
          r"^\*\*Eulerian:", r"^\*\*Lagrangian:", "continuity equation", "^Smoothed particle hydrodynamics", "^## Boundaries",
          "^## Literature"]


def main():
    text = read(SOURCE, PAGE)
    missing = [topic for topic in TOPICS if not re.search(topic, text, re.M)]
    works = re.findall(r"^- .*\b(?:19|20)\d\d\b|^  .*\b(?:19|20)\d\d\b", text[text.index("## Literature"):], re.M)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    dead = [link for link in links if not os.path.exists(os.path.join(SOURCE, os.path.dirname(PAGE), link))]
    print("missing %s, %d works, %d links, dead are %s" % (missing, len(works), len(links), dead))
    verdict = claims.write_from_test(
        "bayraktar-B60", "the theory page has the equations, the two views of a flow and the literature", PAGE,
        [claims.check("topics that are missing", len(missing), "<=", 0),
         claims.check("works to read", len(works), ">=", 10),
         claims.check("links that lead nowhere", len(dead), "<=", 0)])
    return 0 if verdict == "confirmed" and links else 1


sys.exit(main())
