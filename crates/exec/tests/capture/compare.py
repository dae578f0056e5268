"""Compares what the decoder made of captured stages with Spark's own explain("formatted") of the same queries.

usage: compare.py GOLDEN.txt OUT/explain [PREFIX]; GOLDEN.txt is unpacked from golden/VERSION.txt.zst. Every operator of Spark's final plan, with the names of
the columns that it puts out where Spark prints them, must be in one of the query's stages and the other way round."""

import collections
import pathlib
import re
import sys

KINDS = {
    "Scan parquet": "FileSourceScan", "Filter": "Filter", "Project": "Project", "HashAggregate": "HashAggregate",
    "SortAggregate": "SortAggregate", "ObjectHashAggregate": "ObjectHashAggregate", "Sort": "Sort", "BroadcastHashJoin": "BroadcastHashJoin",
    "SortMergeJoin": "SortMergeJoin", "ShuffledHashJoin": "ShuffledHashJoin", "BroadcastNestedLoopJoin": "BroadcastNestedLoopJoin",
    "Scan OneRowRelation": "OneRowRelation", "Generate": "Generate",
    "Union": "Union", "Coalesce": "Coalesce", "Expand": "Expand", "Exchange": "ShuffleWrite", "TakeOrderedAndProject": "TopK",
}
JOINS = {"LeftSemi", "LeftAnti", "LeftOuter", "RightOuter", "FullOuter", "Inner"}


def split(text):
    """Parts between the commas that are in no brackets."""
    # Comparisons are no brackets.
    text = re.sub(r" [<>=]+ ", " ~ ", text)
    parts, depth, part = [], 0, ""
    for char in text:
        depth += (char in "([<{") - (char in ")]>}")
        if char == "," and depth <= 0:
            parts.append(part)
            part = ""
        else:
            part += char
    return [part.strip() for part in parts + [part] if part.strip()]


def alias(text):
    """What stands behind the AS that is in no brackets, without its id."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if depth == 0 and text.startswith(" AS ", at):
            text = text[at + 4:]
            break
    return re.sub(r"#\d+L?$", "", text)


def ours(text):
    """Operators of each query: kind, type of join, names of columns."""
    queries = collections.defaultdict(collections.Counter)
    undecoded = set()
    for block in text.split("\n== "):
        name, _, body = block.removeprefix("== ").partition("\n")
        # Keys are sampled by computing the stage below once more.
        if body.startswith("RangeSample"):
            continue
        if body.startswith("no: "):
            undecoded.add(name)
        lines = body.split("\n")
        if body.startswith("ShuffleWrite"):
            queries[name][("ShuffleWrite", "", None)] += 1
        for line, after in zip(lines, lines[1:] + [""]):
            word = re.match(r" +(\w+)", line)
            if not word or word[1] not in KINDS.values() or not after.strip().startswith("->"):
                continue
            columns = [re.sub(r"#\d+:[^#]*$", "", part) for part in split(after.strip().removeprefix("->"))]
            join = next((part for part in line.split()[1:4] if part in JOINS), "") if "Join" in word[1] else ""
            named = word[1] in ("FileSourceScan", "Project", "HashAggregate", "SortAggregate")
            queries[name][(word[1], join, tuple(columns) if named else None)] += 1
    return queries, undecoded


def sparks(text):
    """Operators of the final plans of a query and its subqueries."""
    counter = collections.Counter()
    details = dict(re.findall(r"^\((\d+)\) (.*?)(?=^\(\d+\) |\Z|^=====)", text, re.M | re.S))
    for tree in re.split(r"== Physical Plan ==|^Subquery:.*$", text, flags=re.M)[1:]:
        final = tree.split("== Initial Plan ==")[0].split("\n\n")[0]
        for line in final.split("\n"):
            match = re.match(r"[ :+|-]*(?:\* ?)?([A-Z].*?) *\((\d+)\)", line)
            if not match:
                continue
            node, number = match[1], match[2]
            kind = next((kind for kind in sorted(KINDS, key=len, reverse=True) if node == kind or node.startswith(kind + " ")), None)
            if kind is None:
                continue
            join = next((part for part in node.split() if part in JOINS), "")
            columns = None
            if KINDS[kind] in ("FileSourceScan", "Project", "HashAggregate", "SortAggregate"):
                detail = details.get(number, "")
                found = re.search(r"^(?:Output|Results) \[\d+\]: \[(.*)\]$", detail, re.M)
                parts = split(found[1]) if found else []
                columns = tuple(alias(part) for part in parts)
            counter[(KINDS[kind], join, columns)] += 1
    return counter


text = pathlib.Path(sys.argv[1]).read_text()
prefix = sys.argv[3] if len(sys.argv) > 3 else "off."
queries, undecoded = ours(text)
equal = different = 0
for path in sorted(pathlib.Path(sys.argv[2]).iterdir()):
    if not path.name.startswith(prefix) or path.name in undecoded:
        continue
    found, expected = queries[path.name], sparks(path.read_text())
    if found == expected:
        equal += 1
        continue
    different += 1
    print(path.name)
    for key in sorted((found - expected).elements(), key=str):
        print("   only ours  ", *key)
    for key in sorted((expected - found).elements(), key=str):
        print("   only Spark's", *key)
print(f"{equal} equal, {different} different")
