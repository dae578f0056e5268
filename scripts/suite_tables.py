"""Tables of what suites of Spark's did with executors of both sides, from the kept results of all runs."""

import collections
import json
import textwrap

from sides import REPOSITORY, SIDES
from suite_jars import SUITES

PAGE = REPOSITORY / "docs" / "spark-suites.md"
NOT_RUN = "–"
BEGIN, END = "<!-- written by scripts/spark-suites --write-docs, to the next such line -->", "<!-- end -->"


def results(version):
    """By suite, test and side: how the newest run of the test ended. And results of runs, oldest first."""
    runs = [json.loads(path.read_text()) for path in SUITES.glob(f"runs/{version}/*/*/result.json")]
    runs.sort(key=lambda run: run["started"])
    ends = collections.defaultdict(lambda: collections.defaultdict(dict))
    for run in runs:
        for test, found in run["tests"].items():
            ends[run["suite"]][test][run["side"]] = found
    return ends, runs


def end_of(sides, side):
    return sides[side]["end"] if side in sides else NOT_RUN


def differs(sides):
    """Whether both sides ran a test, and it ended otherwise."""
    return all(side in sides for side in SIDES) and len({end_of(sides, side) for side in SIDES}) > 1


def count(tests, side, end="passed"):
    if not any(side in sides for sides in tests.values()):
        return NOT_RUN
    return sum(end_of(sides, side) == end for sides in tests.values())


def print_tables(version, suites):
    """Prints all tests of suites, and gives how many tests passed on plain Spark and did not on Firesteel."""
    ends, _ = results(version)
    worse = 0
    for suite in suites:
        tests = ends.get(suite)
        if not tests:
            continue
        print(f"\n{suite}, Spark {version}\n  {'plain':10} {'firesteel':10} {'':9} test")
        for test, sides in tests.items():
            print(f"  {end_of(sides, 'plain'):10} {end_of(sides, 'firesteel'):10} {'different' if differs(sides) else '':9} {test}")
            if differs(sides):
                for line in [line for side in SIDES for line in sides[side]["message"][:2]]:
                    print(f"{'':34}{line}")
        worse += sum(differs(sides) and end_of(sides, "plain") == "passed" for sides in tests.values())
        print(f"  {len(tests)} tests, {count(tests, 'plain')} passed on plain Spark, {count(tests, 'firesteel')} on Firesteel")
    return worse


def reason_of(reasons, version, suite, test):
    for entry in reasons:
        if entry["suite"] == suite and entry["test"] in test and version.startswith(tuple(entry.get("versions", [""]))):
            return entry["reason"]
    return "not yet explained"


def wrap(text):
    return textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)


def names(suites):
    return ", ".join(f"`{suite}`" for suite in suites) + "."


def table(version, found, reasons):
    """Lines of a page: suites of a version, differences, and what was not run."""
    ends, runs = results(version)
    counted = collections.defaultdict(collections.Counter)
    cut = sorted({run["suite"] for run in runs if run["end"] != "whole" and len(ends[run["suite"]]) < max(run["expected"], 1)})
    for run in runs:
        if run["side"] == "firesteel":
            counted[run["suite"]].update({"executors": run["executors"], **run["totals"]})
    compared = sum(all(side in sides for side in SIDES) for tests in ends.values() for sides in tests.values())
    different = sum(differs(sides) for tests in ends.values() for sides in tests.values())
    lines = [f"## Spark {version}", "", *wrap(f"{len(found)} suites start executors, {len(ends)} of them were run. {compared} tests were run on both "
                                              f"sides; {different} of them ended otherwise."), "",
             "| suite | tests | passed on plain Spark | passed on Firesteel | its executors | tasks in the jvm lane | in the sql lane |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for suite, tests in sorted(ends.items()):
        numbers = counted[suite]
        cells = [f"`{suite}`", len(tests), count(tests, "plain"), count(tests, "firesteel"), numbers["executors"], numbers["tasks in jvm"],
                 numbers["tasks in sql"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", "| not the same, or not passed | plain | Firesteel | why |", "| --- | --- | --- | --- |"]
    before = len(lines)
    for suite, tests in sorted(ends.items()):
        for test, sides in tests.items():
            if differs(sides) or any(end_of(sides, side) in ("failed", "unfinished") for side in SIDES):
                cells = [f"`{suite}`: {test.replace('|', ',')}", *(end_of(sides, side) for side in SIDES), reason_of(reasons, version, suite, test)]
                lines.append(f"| {' | '.join(cells)} |")
    if len(lines) == before:
        lines = [*lines[:-2], "Nothing differs, and nothing failed."]
    if cut:
        lines += ["", *wrap("Stopped by a limit of time, or by an exit, on a side: " + names(cut))]
    if missing := [suite for suite in found if suite not in ends]:
        lines += ["", *wrap("Not run: " + names(missing))]
    return lines


def write_page(found, reasons):
    """Writes tables of all versions into the page; its other text stays."""
    lines = []
    for version, suites in found.items():
        if results(version)[1]:
            lines += ["", *table(version, suites, reasons)]
        else:
            lines += ["", f"## Spark {version}", "", f"{len(suites)} suites start executors. None of them was run."]
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text("\n".join([before + BEGIN, *lines, "", END + after]))
