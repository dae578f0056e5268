#!/usr/bin/env python3
"""Queries over what only Spark's own code reads, on Firesteel's executor, whose JVM gives the rows, and on plain Spark's, as ratios, in one run.

* files of ORC, and rows of an RDD, a tenth as many;
* of each what a filter leaves by texts, sums of groups, a join of two scans with windows.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns. `--whole` has Firesteel leave such
stages to its JVM as a whole. Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

from side_by_side import compare_forms

FORMS = [f"{source}, {form}" for source in ["ORC", "RDD"] for form in ["filter", "groups", "join and windows"]]

# Files are written first, by whoever can.
compare_forms(__doc__, "scans", "other_scans", FORMS, "rows of ORC", None)
