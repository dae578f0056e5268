"""Prints what ran where, from the reports that executors wrote; fails if they say that no task ran on Firesteel."""

import json
import pathlib
import sys
import time


def complete(path):
    """The report in a file, or None while it is being written."""
    try:
        return json.loads(path.read_text())
    except json.JSONDecodeError:
        return None


def reports(folder, seconds=15):
    """All reports; executors write them as they leave, which may be a moment after the driver has ended."""
    deadline = time.monotonic() + seconds
    while True:
        found = {path.stem: complete(path) for path in sorted(folder.glob("*.json"))}
        finished = sum(lane["finished"] for report in found.values() if report for lane in report["tasks"].values())
        if (finished and all(found.values())) or time.monotonic() > deadline:
            return {name: report for name, report in found.items() if report}, finished
        time.sleep(0.2)


def main():
    found, finished = reports(pathlib.Path(sys.argv[1]))
    for name, report in found.items():
        lanes = [f"{lane} lane: {n['finished']} tasks" for lane, n in report["tasks"].items() if any(n.values())]
        print(
            f"executor {name}: Spark {report['spark_version']}, registered after {report['ms_to_registered']} ms, "
            f"JVM {'started' if report['jvm_started'] else 'not started'}, "
            f"at most {report['peak_rss_bytes'] / 2**20:.0f} MiB resident; {', '.join(lanes) or 'no task'}"
        )
        for kind in ["delegated", "bailed_out"]:
            for reason, count in report[kind].items():
                print(f"    {kind.replace('_', ' ')}: {count} because {reason}")
    if not finished:
        sys.exit("no task ran on Firesteel: there is no report of an executor that finished one")


main()
