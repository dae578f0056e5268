"""Makes TPC-DS tables as Parquet under the cache directory, once, and prints a directory with `tables` and `queries`. Keys of dates, items and the like
are integers, as in the specification; numbers of tickets and orders are longs, as Spark's own benchmark has them. The queries are those of Spark's own
tests: 99 of them in 103 texts, q01.sql to q99.sql, from its jar of tests at Maven Central.

usage: make_tpcds.py SCALE"""

import os
import pathlib
import shutil
import subprocess
import sys
import urllib.request
import venv
import zipfile

VERSION = "1.5.5"
PACKAGES = [f"duckdb=={VERSION}", f"duckdb-extension-tpcds=={VERSION}", f"duckdb-extensions=={VERSION}"]
SPARK = "4.1.3"
SPARK_TESTS = f"https://repo1.maven.org/maven2/org/apache/spark/spark-sql_2.13/{SPARK}/spark-sql_2.13-{SPARK}-tests.jar"

# What makes the tables, in the environment that has the packages.
GENERATE = """
import pathlib, sys
import duckdb
from duckdb_extensions import import_extension
scale, target = float(sys.argv[1]), pathlib.Path(sys.argv[2])
import_extension("tpcds")
target.mkdir()
made = duckdb.connect(str(target / "tables.duckdb"))
made.sql("load tpcds")
made.sql(f"call dsdgen(sf={scale})")
for (table,) in made.sql("show tables").fetchall():
    columns = []
    for name, kind, *_ in made.sql(f"describe {table}").fetchall():
        # Two names of the specification's.
        wanted = name.replace('c_last_review_date_sk', 'c_last_review_date')
        long = name.endswith(("ticket_number", "order_number")) or kind != "BIGINT"
        columns.append(f"{name if long else name + '::integer'} as {wanted}")
    (target / table).mkdir()
    made.sql(f"copy (select {', '.join(columns)} from {table}) to '{target / table / 'part-0.parquet'}' (format parquet, compression snappy)")
made.close()
(target / "tables.duckdb").unlink()
"""


def environment(cache):
    """The Python of an environment with the generator."""
    home = cache / f"tpcdsgen-{VERSION}"
    if not (home / "ready").exists():
        print(f"installing {PACKAGES[0]} and its TPC-DS", file=sys.stderr)
        venv.create(home, with_pip=True)
        subprocess.run([home / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], check=True,
                       stdout=sys.stderr)
        (home / "ready").touch()
    return home / "bin" / "python"


def extract(cache, target):
    """The queries, named so that they sort."""
    jar = cache / f"spark-sql-tests-{SPARK}.jar"
    if not jar.exists():
        print(f"fetching {jar.name}", file=sys.stderr)
        unfinished = jar.with_name(f"{jar.name}.unfinished-{os.getpid()}")
        urllib.request.urlretrieve(SPARK_TESTS, unfinished)
        unfinished.rename(jar)
    target.mkdir()
    with zipfile.ZipFile(jar) as archive:
        for path in archive.namelist():
            if path.startswith("tpcds/q") and path.endswith(".sql"):
                name = path.removeprefix("tpcds/q").removesuffix(".sql")
                digits = name.rstrip("ab")
                (target / f"q{int(digits):02}{name[len(digits):]}.sql").write_bytes(archive.read(path))


def main(scale):
    cache = pathlib.Path(os.environ.get("FIRESTEEL_CACHE") or pathlib.Path.home() / ".cache" / "firesteel")
    target = cache / f"tpcds-{scale}-{VERSION}"
    if not target.is_dir():
        python = environment(cache)
        print(f"making TPC-DS tables of scale {scale}", file=sys.stderr)
        unfinished = target.with_name(f"{target.name}.unfinished-{os.getpid()}")
        unfinished.mkdir()
        extract(cache, unfinished / "queries")
        subprocess.run([python, "-c", GENERATE, scale, unfinished / "tables"], check=True, stdout=sys.stderr)
        try:
            unfinished.rename(target)
        except OSError:
            # Another run was quicker.
            shutil.rmtree(unfinished)
    print(target)


main(*sys.argv[1:])
