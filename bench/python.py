#!/usr/bin/env python3
"""PySpark RDD jobs on Firesteel's executor, which runs them without a JVM, next to plain Spark's, as ratios, in one run.

Two drivers, each with one executor of one kind, take turns:

* tiny tasks per second: a job of many tasks that do nothing;
* word count over generated text files;
* reduceByKey of many pairs;
* the largest resident memory of the executor process itself, without its Python workers.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

import random

from side_by_side import compare, measure_jobs, parse, parser

WORDS = 50_000


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--tasks", type=int, default=2000, help="tasks of a tiny job (default: %(default)s)")
    arguments.add_argument("--text", type=int, default=1024, help="MB of text (default: %(default)s)")
    arguments.add_argument("--pairs", type=int, default=20_000_000, help="pairs to reduce (default: %(default)s)")
    arguments.add_argument("--only", nargs="+", choices=["tiny", "words", "pairs"], default=["tiny", "words", "pairs"])
    return parse(arguments)


def write_text(directory, megabytes):
    """Eight files of lines of ten words; the same words every time."""
    source = random.Random(1)
    words = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=source.randint(2, 10))) for _ in range(WORDS)]
    lines = [" ".join(source.choices(words, k=10)) for _ in range(20_000)]
    directory.mkdir()
    block = ("\n".join(lines) + "\n").encode()
    for number in range(8):
        with open(directory / f"part-{number}.txt", "wb") as file:
            while file.tell() < megabytes * 2**20 / 8:
                file.write(block)


def measure(chosen, work, samples):
    text = work / "text"
    if "words" in chosen.only:
        write_text(text, chosen.text)
    jobs = {
        "tiny": ("tiny_per_second", dict(do="py_tiny", tasks=chosen.tasks), lambda seconds: chosen.tasks / seconds),
        "words": ("words_seconds", dict(do="py_words", directory=str(text)), lambda seconds: seconds),
        "pairs": ("pairs_seconds", dict(do="py_pairs", pairs=chosen.pairs), lambda seconds: seconds),
    }
    measure_jobs(chosen, work, samples, "jobs", [jobs[job] for job in chosen.only], "python")


MEASURES = [
    # key, title, how to print a value, ratio as (numerator, denominator), goal
    ("tiny_per_second", "tiny PySpark tasks per second", lambda v: f"{v:.0f}", ("firesteel", "plain"), ">= 20"),
    ("words_seconds", "word count", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 2"),
    ("pairs_seconds", "reduceByKey", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 2"),
    ("peak_rss_bytes", "peak memory without workers", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), "< 0.1"),
]


compare(options(), MEASURES, measure)
