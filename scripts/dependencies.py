#!/usr/bin/env python3
"""usage: scripts/dependencies.py: holds the dependencies against deny.toml.

Licences, crates in several versions, dependencies that no code names, and crates that the fuzz targets lack, or have in
another version, which would be compiled twice. `cargo deny check` reads the same file and knows advisories, too; it is
not run here, for it takes longer to build than Firesteel's own code.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLATFORM = "x86_64-unknown-linux-gnu"


def metadata(directory=ROOT):
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", PLATFORM]
    return json.loads(subprocess.run(command, cwd=directory, check=True, stdout=subprocess.PIPE).stdout)


def is_allowed(expression, allowed):
    """Whether a licence expression of SPDX is met by the allowed licences. `/` is an old way to write `OR`."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def one_of():
        met = all_of()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            met = all_of() or met
        return met

    def all_of():
        met = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = one() and met
        return met

    def one():
        name = tokens.pop(0)
        if name == "(":
            met = one_of()
            tokens.pop(0)
            return met
        if tokens and tokens[0] == "WITH":
            tokens.pop(0)
            name = f"{name} WITH {tokens.pop(0)}"
        return name in allowed

    return one_of()


def licences(packages, rules):
    allowed = set(rules["allow"])
    own = {rule["crate"]: set(rule["allow"]) for rule in rules.get("exceptions", [])}
    for package in packages:
        licence = package["license"] or "none"
        if not is_allowed(licence, allowed | own.get(package["name"], set())):
            yield f"{package['name']} {package['version']} has the licence {licence}"


def duplicates(packages, linked, rules):
    versions = collections.defaultdict(set)
    for package in packages:
        if package["id"] in linked:
            versions[package["name"]].add(package["version"])
    skipped = {rule["crate"].partition("@")[0] for rule in rules.get("skip", [])}
    several = {name for name, found in versions.items() if len(found) > 1}
    for name in sorted(several - skipped):
        yield f"{name} is there in the versions {', '.join(sorted(versions[name]))}"
    for name in sorted(skipped - several):
        yield f"deny.toml skips {name}, which is there once or not at all"


def linked_into_the_product(graph, members):
    """What normal dependencies lead to: not what only builds and tests use."""
    nodes = {node["id"]: node for node in graph["nodes"]}
    found, left = set(), list(members)
    while left:
        package = left.pop()
        if package not in found:
            found.add(package)
            left += [
                dependency["pkg"]
                for dependency in nodes[package]["deps"]
                if any(kind["kind"] is None for kind in dependency["dep_kinds"])
            ]
    return found


def unused(package, node, rules):
    directory = pathlib.Path(package["manifest_path"]).parent
    places = [directory / place for place in ("src", "tests", "benches", "examples")]
    files = [file for place in places for file in place.rglob("*.rs")] + list(directory.glob("build.rs"))
    code = "\n".join(file.read_text() for file in files)
    allowed = {rule["crate"] for rule in rules.get("unused", [])}
    for dependency in node["deps"]:
        name = dependency["name"]
        if not re.search(rf"\b{name}\b", code) and name not in allowed:
            yield f"{package['name']} depends on {name}, which its code does not name"


def locked(lock):
    versions = collections.defaultdict(set)
    for package in tomllib.loads(lock.read_text())["package"]:
        versions[package["name"]].add(package["version"])
    return versions


def fuzzed_otherwise():
    """What the fuzz targets' lock lacks, or has in another version than the product's."""
    try:
        metadata(ROOT / "fuzz")
    except subprocess.CalledProcessError:
        yield "fuzz/Cargo.lock is not that of the crates: run `cargo metadata` in fuzz, and commit it"
    product = locked(ROOT / "Cargo.lock")
    for name, versions in sorted(locked(ROOT / "fuzz/Cargo.lock").items()):
        for version in sorted(versions - product.get(name, versions)):
            yield f"fuzz/Cargo.lock has {name} {version}: copy Cargo.lock there and run `cargo metadata` in fuzz"


def main():
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    found = metadata()
    packages = found["packages"]
    members = set(found["workspace_members"])
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    linked = linked_into_the_product(found["resolve"], members)
    complaints = list(licences(packages, rules["licenses"]))
    complaints += duplicates(packages, linked, rules["bans"])
    complaints += fuzzed_otherwise()
    for package in packages:
        if package["id"] in members:
            complaints += unused(package, nodes[package["id"]], rules.get("firesteel", {}))
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
