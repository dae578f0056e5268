"""Makes TPC-H tables as Parquet under the cache directory, once, and prints their directory.

usage: make_tpch.py SCALE PARTS"""

import os
import pathlib
import shutil
import subprocess
import sys
import venv

VERSION = "4.0.0"
GENERATOR = f"tpchgen-cli=={VERSION}"


def main(scale, parts):
    cache = pathlib.Path(os.environ.get("FIRESTEEL_CACHE") or pathlib.Path.home() / ".cache" / "firesteel")
    target = cache / f"tpch-{scale}-{parts}-{VERSION}"
    if not target.is_dir():
        tools = cache / f"tpchgen-{VERSION}"
        program = tools / "bin" / "tpchgen-cli"
        if not program.exists():
            print(f"installing {GENERATOR}", file=sys.stderr)
            venv.create(tools, with_pip=True)
            subprocess.run([tools / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", GENERATOR],
                           check=True, stdout=sys.stderr)
        print(f"making TPC-H tables of scale {scale}", file=sys.stderr)
        unfinished = target.with_name(f"{target.name}.unfinished-{os.getpid()}")
        subprocess.run([program, "parquet", "-s", scale, "--parts", parts, "-o", unfinished], check=True,
                       stdout=sys.stderr)
        try:
            unfinished.rename(target)
        except OSError:
            # Another run was quicker.
            shutil.rmtree(unfinished)
    print(target)


main(*sys.argv[1:])
