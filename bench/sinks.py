#!/usr/bin/env python3
"""Queries whose last stage ends in what only Spark's own code does, on Firesteel's executor, whose JVM gets the rows of native operators, and on plain Spark's, as ratios, in one run.

* rows go to a file of ORC, to a data source V2 that forgets them, or to a function of Java, row by row, outside of queries;
* of each what groups come to, a join of two tables with windows over its groups, and a sort.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns. `--whole` has Firesteel leave such
stages to its JVM as a whole. Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

from side_by_side import compare_forms

FORMS = [f"{query} to {sink}" for query in ["groups", "join and windows", "sort"] for sink in ["ORC", "nowhere", "a function"]]

compare_forms(__doc__, "sinks", "other_sinks", FORMS, "rows of the table", "sql")
