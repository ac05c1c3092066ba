"""Results of claims: what tests/support/claims.c writes, for scripts. A result is a list of checks; the
verdict is computed from them and is nowhere written."""

import json
import operator
import os

RELATIONS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
KEYS = ("id", "claim", "size", "precision", "machine", "commit", "test", "checks")
CHECK_KEYS = ("what", "figure", "relation", "threshold")


def holds(check):
    """A figure that is not a number holds nowhere."""
    figure, threshold = check["figure"], check["threshold"]
    return figure is not None and threshold is not None and RELATIONS[check["relation"]](figure, threshold)


def judge(checks):
    """Confirmed when all checks hold; refuted when the first, the claim itself, does not; else partial."""
    if not checks or not holds(checks[0]):
        return "refuted"
    return "confirmed" if all(holds(check) for check in checks) else "partial"


def deciding_check(checks):
    """The first that does not hold, or the first."""
    return next((check for check in checks if not holds(check)), checks[0])


def check(what, figure, relation, threshold):
    return {"what": what, "figure": figure, "relation": relation, "threshold": threshold}


def write(folder, claim_id, claim, size, checks, test, precision="float", machine="", commit="", mode="w"):
    """Writes <folder>/<id>.json in the form of tests/support/claims.c, and returns the verdict."""
    lines = ["  %s: %s" % (json.dumps(key), json.dumps(value, ensure_ascii=False)) for key, value in
             zip(KEYS, (claim_id, claim, size, precision, machine, commit, test))]
    rows = ["    { %s }" % ", ".join("%s: %s" % (json.dumps(key), json.dumps(one[key], ensure_ascii=False))
                                     for key in CHECK_KEYS) for one in checks]
    lines.append('  "checks": [\n%s\n  ]' % ",\n".join(rows))
    with open(os.path.join(folder, claim_id + ".json"), mode, encoding="utf-8") as file:
        file.write("{\n%s\n}\n" % ",\n".join(lines))
    return judge(checks)


def write_from_test(claim_id, claim, size, checks):
    """For tests in Python: like kp_claim_checks, with what CTest and `make claims` say in the environment."""
    folder = os.environ.get("KELPIE_CLAIMS_DIR")
    if folder:
        write(folder, claim_id, claim, size, checks, os.environ["KELPIE_TEST_NAME"], "float",
              os.environ.get("KELPIE_CLAIMS_MACHINE", ""), os.environ.get("KELPIE_CLAIMS_COMMIT", ""), mode="x")
    return judge(checks)


def faults(result):
    """What is wrong with the form of a result, as sentences."""
    found = ["has no \"%s\"" % key for key in KEYS if not result.get(key)]
    found += ["has a key \"%s\" that results do not have" % key for key in result if key not in KEYS]
    for one in result.get("checks") or []:
        if set(one) != set(CHECK_KEYS) or one["relation"] not in RELATIONS:
            found.append("has a check that is not %s" % ", ".join(CHECK_KEYS))
    return found
