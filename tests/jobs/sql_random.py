"""Random queries of Spark SQL over tables that are no files: VALUES, ranges, empty relations, data frames from Python lists and from pandas, bare under every operator that can stand above them.

usage: spark-submit sql_random.py RESULT SEED FIRST COUNT [THREADS]. Query N is made of SEED and N alone, so that any can be asked again (FIRST N, COUNT 1). From 0 on the fixed queries come first. RESULT has for each query its text and a digest of
its answer: rows in their order where the query fixes it, else sorted."""

import concurrent.futures
import datetime
import hashlib
import json
import math
import random
import re
import sys

# What rows are made of: by type, literals of SQL. Few of each, so that joins find partners, and odd ones among them.
LITERALS = {
    "int": ["0", "1", "2", "3", "-1", "2147483647", "-2147483648"],
    "bigint": ["0L", "1L", "2L", "3L", "-1L", "9223372036854775807L"],
    "tinyint": ["0Y", "1Y", "2Y", "-128Y", "127Y"],
    "double": ["0.0D", "-0.0D", "1.0D", "2.5D", "double('NaN')", "double('Infinity')", "-1e300D"],
    "float": ["float(0)", "-float(0)", "float(1)", "float('NaN')", "float(0.1)"],
    "string": ["''", "'a'", "'b'", "'ab'", "'1'", "'äöü€'", "'a longer text that is no view in itself'", "' '"],
    "boolean": ["true", "false"],
    "date": ["DATE'2020-01-01'", "DATE'1969-12-31'", "DATE'0001-01-01'", "DATE'9999-12-31'", "DATE'1582-10-04'"],
    "timestamp": ["TIMESTAMP'2020-01-01 12:34:56.789012'", "TIMESTAMP'1969-12-31 23:59:59.999999'", "TIMESTAMP'1583-01-02 00:00:00'", "TIMESTAMP'2024-03-31 02:30:00'"],
    "decimal(10,2)": ["0.00", "1.00", "2.50", "-99999999.99", "99999999.99"],
    "decimal(38,10)": ["0", "1", "-9999999999999999999999999999.9999999999", "0.0000000001"],
    "binary": ["X''", "X'00'", "X'FF00'", "X'616263'"],
    "array<int>": ["array()", "array(1)", "array(1, NULL, 3)", "array(NULL, NULL)", "array(3, 1, 2, 1)"],
    "array<string>": ["array()", "array('a')", "array('b', NULL, 'a', '')", "array('a longer text that is no view in itself', 'ab')"],
    "struct<a:int,b:string>": ["named_struct('a', 1, 'b', 'x')", "named_struct('a', NULL, 'b', NULL)", "named_struct('a', 2, 'b', 'a longer text that is no view in itself')"],
    "array<struct<a:bigint,b:array<double>>>": ["array()", "array(named_struct('a', 1L, 'b', array(1.5D, NULL, double('NaN'), -0.0D)), NULL)", "array(named_struct('a', NULL, 'b', NULL), named_struct('a', 7L, 'b', array()))"],
    "map<string,int>": ["map()", "map('a', 1)", "map('a', 1, 'b', NULL)", "map('a longer text that is no view in itself', 7, '', -1)"],
}
# No keys of groups, joins and sorts: Spark compares no maps, and of arrays of floats what is equal is computed with lambdas.
ONLY_CARRIED = ["map<string,int>", "array<struct<a:bigint,b:array<double>>>"]
TYPES = [of for of in LITERALS if of not in ONLY_CARRIED]

# What depends on the time zone of the session.
CLOCKS = {
    "timestamp": [
        ("hour({})", "int"), ("CAST({} AS date)", "date"), ("CAST({} AS string)", "string"), ("CAST(CAST({} AS timestamp_ntz) AS timestamp)", "timestamp"), ("date_trunc('month', {})", "timestamp"), ("date_trunc('hour', {})", "timestamp"),
        ("{} + INTERVAL '1 02:03:04' DAY TO SECOND", "timestamp"), ("{} - INTERVAL '1' MONTH", "timestamp"), ("from_utc_timestamp({}, 'America/St_Johns')", "timestamp"), ("to_utc_timestamp({}, 'Europe/Berlin')", "timestamp"), ("date_format({}, 'yyyy-MM-dd HH:mm')", "string"),
    ],
    "date": [("hour(CAST({} AS timestamp))", "int"), ("unix_seconds(CAST({} AS timestamp))", "bigint"), ("CAST({} AS string)", "string"), ("date_format({}, 'yyyy-MM')", "string")],
}

# What differs between sessions. Each is a session of its own, with the same views.
SESSIONS = [
    {},
    {"spark.sql.codegen.wholeStage": "false", "spark.sql.session.timeZone": "Europe/Berlin"},
    {"spark.sql.codegen.wholeStage": "false", "spark.sql.session.timeZone": "Asia/Kathmandu", "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"},
    {"spark.sql.session.timeZone": "Australia/Lord_Howe", "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"},
    {"spark.sql.codegen.wholeStage": "false", "spark.sql.session.timeZone": "Pacific/Apia", "spark.sql.adaptive.enabled": "false", "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"},
    {"spark.sql.codegen.wholeStage": "false", "spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.session.timeZone": "America/New_York"},
    {"spark.sql.adaptive.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.join.preferSortMergeJoin": "false", "spark.sql.session.timeZone": "America/Sao_Paulo"},
    {"spark.sql.codegen.wholeStage": "false", "spark.sql.adaptive.coalescePartitions.enabled": "false", "spark.sql.shuffle.partitions": "3"},
]

# Queries that were answered wrong once: nobody names the columns of a local table that is collected or broadcast bare.
# Asked in every session.
FIXED = [
    # Of equal ones the last, of the rows of a partition in their order.
    "SELECT id % 17 AS g, max_by(id, id % 5), min_by(concat('k', id), id % 3 = 0), max_by(id, named_struct('a', id % 3, 'b', id % 7 / 2.0D)), first(concat('f', id)), "
    "collect_list(concat('l', id)) FROM range(0, 1000, 1, 1) GROUP BY id % 17",
    "SELECT max_by(concat('v', id), IF(id % 11 = 3, double('NaN'), -0.0D * id)), min_by(id, IF(id % 2 = 0, NULL, CAST(id % 9 AS string))) FROM range(0, 500, 1, 1)",
    "SELECT id % 5 AS g, max_by(struct(id), id), min_by(array(id), -id) FILTER (WHERE id % 3 = 1), max_by(id, IF(id < 0, id, NULL)) FROM range(0, 300, 1, 4) GROUP BY id % 5",
    "SELECT max_by(id, id), min_by('x', id), max_by(NULL, id) FROM range(0, 10, 1, 2) WHERE id < 0",
    "SELECT * FROM VALUES (1,'x'),(2,'y') UNION ALL SELECT * FROM VALUES (3,'z')",
    "SELECT * FROM VALUES (1,'x'),(2,'y') EXCEPT SELECT * FROM VALUES (2,'y')",
    "SELECT * FROM VALUES (1,'x'),(2,'y') INTERSECT SELECT * FROM VALUES (2,'y')",
    "SELECT a.id FROM range(5) a WHERE a.id NOT IN (SELECT * FROM VALUES (1L),(2L) v(x))",
    "SELECT a.id FROM range(5) a WHERE a.id IN (SELECT x FROM VALUES (1L,'a'),(2L,'b') v(x,y))",
    "SELECT id FROM range(4) WHERE id IN (SELECT i2 FROM VALUES (0,10),(1,11) AS t(i2,j2))",
    "SELECT a.id, v.x FROM range(3) a CROSS JOIN VALUES (DATE'2020-01-01') v(x)",
    "SELECT a.id, v.x FROM range(3) a CROSS JOIN VALUES ('a text') v(x)",
    "SELECT a.id, v.x, v.y FROM range(3) a, LATERAL (SELECT * FROM VALUES (1, 'one') v(x, y)) v",
    "SELECT t.a, v.k FROM VALUES ('x',1),('y',2) t(a,i) JOIN VALUES (1,'one'),(2,'two') v(k,x) ON t.i = v.k",
    "SELECT id FROM range(2) UNION ALL SELECT * FROM VALUES (7L), (CAST(NULL AS BIGINT))",
    "SELECT * FROM VALUES (7L), (CAST(NULL AS BIGINT)) UNION ALL SELECT id FROM range(2)",
    "SELECT a.id, v.* FROM range(3) a JOIN (SELECT * FROM VALUES (1L,'x'),(2L,'y') ORDER BY 1 DESC LIMIT 1) v(k,t) ON a.id = v.k",
    # Inputs without partitions are left out of a union's RDDs.
    "SELECT * FROM (SELECT id AS c0 FROM range(0)) UNION SELECT * FROM VALUES (2L), (NULL), (1L)",
    "SELECT * FROM VALUES (2L), (NULL), (1L) UNION ALL SELECT id FROM range(0) UNION ALL SELECT id + 7 FROM range(2)",
    # NOT IN compares the bits of zeros.
    "SELECT * FROM VALUES (0.0D), (-0.0D), (1.0D), (NULL) t(x) WHERE x NOT IN (SELECT y FROM VALUES (-0.0D), (1.0D) v(y))",
    "SELECT DISTINCT * FROM VALUES (float('NaN')), (-float(0)) t(x) WHERE x NOT IN (SELECT y FROM VALUES (float(0)), (float('NaN')) v(y))",
    "SELECT count(*) FROM (VALUES (float(0)), (-float(0)), (float(1)), (-float(0)) t(x)) WHERE x NOT IN (SELECT y FROM (SELECT * FROM VALUES (float(0)) v(y) UNION SELECT * FROM VALUES (float(1)), (-float(0)) v(y)))",
    "SELECT x, stddev(x), var_pop(x) FROM VALUES (-1e300D), (2D), (-1e300D) t(x) GROUP BY x",
    "SELECT a.id, v.* FROM range(3) a JOIN from_pandas v ON a.id = v.c0",
    "SELECT count(*) FROM VALUES (1,'x'),(2,'y') v(a,b) CROSS JOIN range(3)",
    # The first rows of all, in the middle of a plan.
    "SELECT a.c0, b.id AS x FROM (SELECT * FROM VALUES (3, 'x'), (1, 'y'), (2, 'z') t(c0, c1) ORDER BY c0 LIMIT 2 OFFSET 1) a JOIN range(4) b ON a.c0 = b.id",
    "SELECT count(*), max(c0) FROM (SELECT id AS c0 FROM range(0, 100, 1, 3) ORDER BY id DESC LIMIT 7)",
    "SELECT * FROM (SELECT id % 3 AS k, id FROM range(0, 20, 1, 4) ORDER BY id LIMIT 5) UNION ALL SELECT * FROM (SELECT id, id + 1 FROM range(3) ORDER BY id DESC LIMIT 1)",
    "SELECT c0, count(*) FROM (SELECT /*+ REPARTITION(1) */ * FROM (SELECT id AS c0 FROM range(0, 9, 1, 3) ORDER BY id DESC LIMIT 4)) GROUP BY c0",
    "SELECT sum(x) FROM (SELECT x, row_number() OVER (ORDER BY x) AS n FROM (SELECT id AS x FROM range(0, 50, 1, 2) ORDER BY id DESC LIMIT 3 OFFSET 1)) WHERE n < 3",
    "SELECT count(*) FROM (SELECT id FROM range(5) ORDER BY id LIMIT 0)",
    # A subquery that ends with a limit.
    "SELECT id, (SELECT id - id + 7 FROM range(0, 9, 1, 3) LIMIT 1) AS x, (SELECT concat(c0, c1) FROM VALUES (1, 'x') t(c0, c1) LIMIT 3) AS y FROM range(3)",
    # Rows of equal keys stay in their order.
    "SELECT k, id, row_number() OVER (ORDER BY k) AS n FROM (SELECT id % 3 AS k, id FROM range(0, 100, 1, 1))",
    "SELECT collect_list(id) FROM (SELECT id % 3 AS k, id FROM range(0, 50, 1, 1) ORDER BY k DESC)",
    "SELECT k, id FROM (SELECT concat('k', id % 3) AS k, id FROM range(0, 50, 1, 1)) ORDER BY k LIMIT 40",
    "SELECT /*+ SHUFFLE_REPLICATE_NL(a) */ a.id, b.x FROM range(3) a JOIN VALUES (1, 'one'), (2, 'two') b(x, y) ON a.id < b.x",
    "SELECT /*+ SHUFFLE_REPLICATE_NL(a) */ count(*), max(b.c0) FROM range(0, 40, 1, 3) a CROSS JOIN from_list b",
    "SELECT max(a.id > b.id), min(a.id > b.id) FROM range(3) a CROSS JOIN range(2) b",
    # What a SELECT without FROM selects from has one row and no columns.
    "SELECT (SELECT max(id) FROM range(3)) AS a, (SELECT count(*) FROM VALUES (1),(2) v(x)) AS b",
    "SELECT 'x' AS c WHERE (SELECT max(id) FROM range(3)) > 1",
    "SELECT 'x' AS c WHERE (SELECT max(id) FROM range(3)) > 2",
    "SELECT id FROM range(2) UNION ALL SELECT (SELECT max(id) FROM range(9))",
    "SELECT a.x, b.id FROM (SELECT (SELECT min(id) FROM range(1, 3)) AS x) a RIGHT JOIN range(3) b ON a.x = b.id",
    "SELECT count(*) FROM (SELECT 1 WHERE (SELECT max(id) FROM range(3)) IS NOT NULL)",
    # Rows that are made of a row.
    "SELECT a.id, p, x FROM range(3) a LATERAL VIEW OUTER posexplode(IF(id = 1, array(), array(id, NULL, -id))) AS p, x",
    "SELECT id, k, v FROM range(3) LATERAL VIEW explode(map(id, 'x', id + 1, NULL)) AS k, v",
    "SELECT t.i, a, b FROM VALUES (1, array(named_struct('a', 1, 'b', 'x'), NULL)), (2, NULL), (3, array()) AS t(i, s) LATERAL VIEW OUTER inline(s) AS a, b",
    "SELECT id, x, y FROM range(4) LATERAL VIEW stack(2, id, 'a', id * 2) AS x, y",
    "SELECT * FROM VALUES (1,'x'),(1,'x'),(1,'x'),(2,NULL),(2,NULL) INTERSECT ALL SELECT * FROM VALUES (1,'x'),(1,'x'),(2,NULL),(3,'z')",
    "SELECT * FROM VALUES (1,'x'),(1,'x'),(1,'x'),(2,NULL),(2,NULL) EXCEPT ALL SELECT * FROM VALUES (1,'x'),(1,'x'),(2,NULL),(3,'z')",
]

# Views of data frames that Python makes; all have these columns.
VIEWS = ["from_list", "from_pandas", "from_empty_list", "from_empty_pandas"]
VIEW_COLUMNS = ["bigint", "double", "string", "date"]


def cast(literal, of):
    return f"CAST({literal} AS {of})"


class Relation:
    """Something to select from: its text, the types of its columns `c0`, `c1` …, and whether its rows come in one order only."""

    def __init__(self, text, types, ordered=True):
        self.text, self.types, self.ordered = text, types, ordered


class Query(Relation):
    """A relation that is a whole query. `zeros`: whether 0.0 may stand for -0.0, as any row of a group may for the others. `sums`: columns with sums of floating-point numbers."""

    def __init__(self, text, types, ordered=False, zeros=True, sums=()):
        super().__init__(text, types, ordered)
        self.zeros, self.sums = zeros, set(sums)


class Maker:
    """Makes queries of the numbers of a generator."""

    def __init__(self, rng):
        self.rng = rng
        self.names = 0

    def pick(self, of):
        return self.rng.choice(of)

    def chance(self, share):
        return self.rng.random() < share

    def name(self):
        self.names += 1
        return f"t{self.names}"

    def types(self):
        return [self.pick(TYPES) for _ in range(self.rng.randint(1, 4))]

    def literal(self, of, nulls=0.15):
        # With its type: a column may happen to have nulls only.
        return cast("NULL" if self.chance(nulls) else self.pick(LITERALS[of]), of)

    def values(self, types):
        rows = [", ".join(self.literal(of) for of in types) for _ in range(self.rng.randint(1, 6))]
        return ", ".join(f"({row})" for row in rows)

    def columns(self, types):
        return ", ".join(f"c{n}" for n in range(len(types)))

    def source(self, types=None, depth=0):
        """A relation, of these types if given, as a query in brackets with a name. Its columns are c0, c1, ..."""
        kind = self.rng.random()
        if types is None and kind < 0.15:
            bounds = self.pick(["3", "0", "1, 8, 2", "5, 0, -1", "0, 7, 1, 3", "2, 2", "-3, 3, 1, 2"])
            name = self.name()
            return Relation(f"(SELECT id AS c0 FROM range({bounds})) {name}", ["bigint"])
        if types is None and kind < 0.3:
            name = self.name()
            return Relation(f"{self.pick(VIEWS)} {name}", VIEW_COLUMNS)
        if depth < 2 and kind > 0.85:
            inner = self.query(depth + 1, types)
            columns = self.columns(inner.types)
            return Relation(f"({inner.text}) {self.name()}({columns})", inner.types, ordered=False)
        types = types or self.types()
        columns = self.columns(types)
        name = self.name()
        empty = self.chance(0.1)
        if empty or self.chance(0.2):
            return Relation(f"(SELECT * FROM VALUES {self.values(types)} AS v({columns}) WHERE {'c0 IS NULL AND c0 IS NOT NULL' if empty else self.predicate('v', types)}) {name}", types)
        return Relation(f"(VALUES {self.values(types)}) AS {name}({columns})", types)

    def alias(self, relation):
        return re.search(r"(t\d+)(\([^()]*\))?$", relation.text)[1]

    def predicate(self, name, types):
        place = self.rng.randrange(len(types))
        column, of = f"{name}.c{place}", types[place]
        plain = self.pick([
            f"{column} IS NULL",
            f"{column} IS NOT NULL",
            f"{column} = {self.literal(of, 0)}",
            f"{column} <> {self.literal(of, 0)}",
            f"{column} < {self.literal(of)}" if of != "boolean" else f"{column}",
            f"{column} IN ({self.literal(of, 0)}, {self.literal(of)})",
            f"{column} <=> {self.literal(of)}",
            "true",
        ])
        if self.chance(0.2):
            return f"({plain} {self.pick(['AND', 'OR'])} {self.predicate(name, types)})"
        return f"NOT ({plain})" if self.chance(0.1) else plain

    def query(self, depth=0, types=None):
        """A query; with these types of columns if they are given."""
        if types is not None:
            return self.pick([self.bare, self.filtered, self.united])(depth, types)
        forms = [
            self.bare, self.bare, self.filtered, self.projected, self.united, self.united, self.combined, self.joined, self.joined, self.joined, self.kept, self.kept, self.grouped,
            self.grouped, self.distinct, self.ordered, self.limited, self.lateral, self.scalar, self.spread, self.shared,
            self.alone, self.windowed, self.windowed, self.exploded, self.exploded, self.carried, self.nested, self.compared, self.compared,
        ]
        return self.pick(forms)(depth, None)

    def bare(self, depth, types):
        source = self.source(types, depth)
        return Query(f"SELECT * FROM {source.text}", source.types, source.ordered, zeros=not source.ordered)

    def filtered(self, depth, types):
        source = self.source(types, depth)
        name = self.alias(source)
        return Query(f"SELECT * FROM {source.text} WHERE {self.predicate(name, source.types)}", source.types, source.ordered, zeros=not source.ordered)

    def projected(self, depth, _):
        source = self.source(None, depth)
        name = self.alias(source)
        items, types = [], []
        for _ in range(self.rng.randint(1, 3)):
            place = self.rng.randrange(len(source.types))
            of = source.types[place]
            column = f"{name}.c{place}"
            kind = self.rng.random()
            if kind < 0.5:
                items.append(column)
                types.append(of)
            elif kind < 0.6:
                items.append(self.literal(of))
                types.append(of)
            elif kind > 0.7 and of in CLOCKS:
                item, result = self.pick(CLOCKS[of])
                items.append(item.format(column))
                types.append(result)
            elif kind < 0.8:
                items.append(f"{column} IS NULL")
                types.append("boolean")
            else:
                items.append(f"CASE WHEN {self.predicate(name, source.types)} THEN {column} ELSE {self.literal(of)} END")
                types.append(of)
        named = ", ".join(f"{item} AS c{n}" for n, item in enumerate(items))
        return Query(f"SELECT {named} FROM {source.text}", types, source.ordered)

    def united(self, depth, types):
        first = self.source(types, depth)
        parts = [first] + [self.source(first.types, depth + 1) for _ in range(self.rng.randint(1, 3))]
        self.rng.shuffle(parts)
        text = " UNION ALL ".join(f"SELECT * FROM {part.text}" for part in parts)
        # Spark may take the parts of a union in any order that it likes, but does not.
        ordered = all(part.ordered for part in parts)
        return Query(text, first.types, ordered, zeros=not ordered)

    def combined(self, depth, _):
        first = self.source(None, depth)
        second = self.source(first.types, depth + 1)
        kind = self.pick(["UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL"])
        return Query(f"SELECT * FROM {first.text} {kind} SELECT * FROM {second.text}", first.types)

    def joined(self, depth, _):
        left = self.source(None, depth)
        right = self.source(left.types if self.chance(0.6) else None, depth + 1)
        one, other = self.alias(left), self.alias(right)
        pairs = [(a, b) for a, of in enumerate(left.types) for b, too in enumerate(right.types) if of == too]
        kind = self.pick(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN"])
        conditions = []
        if pairs and self.chance(0.85):
            for a, b in self.rng.sample(pairs, min(len(pairs), self.rng.randint(1, 2))):
                conditions.append(f"{one}.c{a} {self.pick(['=', '=', '=', '<=>', '<'] if left.types[a] != 'boolean' else ['='])} {other}.c{b}")
        if self.chance(0.25):
            conditions.append(self.predicate(one, left.types))
        if self.chance(0.15):
            conditions.append(self.predicate(other, right.types))
        hint = self.pick(["", "", "", f"/*+ BROADCAST({other}) */ ", f"/*+ BROADCAST({one}) */ ", f"/*+ MERGE({one}) */ ", f"/*+ SHUFFLE_HASH({other}) */ "])
        on = f" ON {' AND '.join(conditions)}" if conditions and kind != "CROSS JOIN" else ""
        if "SEMI" in kind or "ANTI" in kind:
            places = [(one, n, of) for n, of in enumerate(left.types)]
        else:
            places = [(one, n, of) for n, of in enumerate(left.types)] + [(other, n, of) for n, of in enumerate(right.types)]
        if self.chance(0.4):
            places = self.rng.sample(places, self.rng.randint(1, len(places)))
        named = ", ".join(f"{name}.c{n} AS c{at}" for at, (name, n, _) in enumerate(places))
        return Query(f"SELECT {hint}{named} FROM {left.text} {kind} {right.text}{on}", [of for *_, of in places])

    def kept(self, depth, _):
        source = self.source(None, depth)
        name = self.alias(source)
        place = self.rng.randrange(len(source.types))
        inner = self.source([source.types[place]] + ([self.pick(TYPES)] if self.chance(0.5) else []), depth + 1)
        column, of = f"{name}.c{place}", self.alias(inner)
        where = self.pick([
            f"{column} IN (SELECT {of}.c0 FROM {inner.text})",
            f"{column} NOT IN (SELECT {of}.c0 FROM {inner.text})",
            f"EXISTS (SELECT 1 FROM {inner.text} WHERE {of}.c0 = {column})",
            f"NOT EXISTS (SELECT * FROM {inner.text} WHERE {of}.c0 = {column})",
            f"({column} IN (SELECT {of}.c0 FROM {inner.text}) OR {self.predicate(name, source.types)})",
        ])
        return Query(f"SELECT * FROM {source.text} WHERE {where}", source.types)

    def grouped(self, depth, _):
        source = self.source(None, depth)
        name = self.alias(source)
        keys = [n for n, of in enumerate(source.types) if of not in ("binary",) and self.chance(0.4)][:2]
        items, types, sums = [f"{name}.c{n}" for n in keys], [source.types[n] for n in keys], []
        for _ in range(self.rng.randint(1, 3)):
            place = self.rng.randrange(len(source.types))
            column, of = f"{name}.c{place}", source.types[place]
            choices = [("count(*)", "bigint"), (f"count({column})", "bigint"), (f"count(DISTINCT {column})", "bigint"), (f"min({column})", of), (f"max({column})", of)]
            choices.append((f"size(collect_list({column}))", "int"))
            if of in ("int", "string"):
                choices.append((f"sort_array(collect_list({column}))", f"array<{of}>"))
            if of in ("int", "tinyint"):
                choices += [(f"sum({column})", "bigint"), (f"avg({column})", "double")]
            # What is made of a sum depends on the order of addition, too: none is nested.
            if of in ("double", "float") and depth == 0:
                choices += [(f"sum({column})", "double"), (f"avg({column})", "double"), (f"stddev({column})", "double")]
            if of == "decimal(10,2)":
                choices += [(f"sum({column})", "decimal(20,2)"), (f"avg({column})", "decimal(14,6)")]
            item, result = self.pick(choices)
            if result == "double" and not item.startswith(("min", "max")):
                sums.append(len(items))
            items.append(item)
            types.append(result)
        # Other types than those of literals are not looked into any more.
        types = [of if of in LITERALS else "decimal(38,10)" for of in types]
        items = [cast(item, of) if of == "decimal(38,10)" else item for item, of in zip(items, types)]
        named = ", ".join(f"{item} AS c{n}" for n, item in enumerate(items))
        by = f" GROUP BY {', '.join(f'{name}.c{n}' for n in keys)}" if keys else ""
        having = " HAVING count(*) > 1" if self.chance(0.1) else ""
        return Query(f"SELECT {named} FROM {source.text}{by}{having}", types, sums=sums)

    def array(self, name, types, of):
        """An array of some of the columns of this type, and of literals of it."""
        columns = [f"{name}.c{n}" for n, own in enumerate(types) if own == of]
        items = [self.pick(columns) if columns and self.chance(0.6) else self.literal(of) for _ in range(self.rng.randint(1, 4))]
        array = f"array({', '.join(items)})"
        return self.pick([array, array, array, f"IF({self.predicate(name, types)}, {array}, NULL)", f"IF({self.predicate(name, types)}, {array}, CAST(array() AS array<{of}>))"])

    def exploded(self, depth, _):
        """Several rows of each row."""
        source = self.source(None, depth)
        name = self.alias(source)
        place = self.rng.randrange(len(source.types))
        of = source.types[place]
        kept, kept_types = f"{name}.c{place} AS c0", [of]
        if self.chance(0.3):
            kept, kept_types = None, []
        outer = self.pick(["", "", "OUTER "])
        array = self.array(name, source.types, of)
        other = self.pick(TYPES)
        view, columns, types = self.pick([
            (f"explode({array})", ["x"], [of]),
            (f"posexplode({array})", ["p", "x"], ["int", of]),
            (f"explode(map(1, {name}.c{place}, 2, {self.literal(of)}))", ["k", "v"], ["int", of]),
            (f"inline(IF({self.predicate(name, source.types)}, array(named_struct('a', {name}.c{place}, 'b', {self.literal(other)}), NULL), NULL))", ["a", "b"], [of, other]),
            (f"stack(2, {name}.c{place}, {self.literal(other)}, {self.literal(of)}, {self.literal(other)})", ["x", "y"], [of, other]),
        ])
        alias = self.name()
        named = [f"{alias}.{column} AS c{n}" for n, column in enumerate(columns, len(kept_types))]
        items = ", ".join([kept] * bool(kept) + named)
        return Query(f"SELECT {items} FROM {source.text} LATERAL VIEW {outer}{view} {alias} AS {', '.join(columns)}", kept_types + types, source.ordered)

    def carried(self, depth, _):
        """Nested columns that nothing is done by, under what moves rows."""
        if depth > 0:
            return self.filtered(depth, None)
        types = [self.pick(["int", "string"])] + self.rng.sample(ONLY_CARRIED, self.rng.randint(1, 2))
        source = self.source(types, 2)
        name = self.alias(source)
        columns = ", ".join(f"{name}.c{n} AS c{n}" for n in range(len(types)))
        firsts = ", ".join(f"first({name}.c{n}) AS c{n}" for n in range(1, len(types)))
        # The order of rows behind a shuffle is not fixed, nor is what comes first.
        text = self.pick([
            f"SELECT /*+ REPARTITION(3) */ {columns} FROM {source.text}",
            f"SELECT /*+ REPARTITION(3, c0) */ {columns} FROM {source.text}",
            f"SELECT {columns} FROM {source.text} JOIN VALUES (1, 'a'), (2, 'b') r(i, s) ON {name}.c0 = r.{'i' if types[0] == 'int' else 's'}",
            f"SELECT /*+ MERGE(r) */ {columns} FROM {source.text} LEFT JOIN (SELECT id FROM range(3)) r ON {name}.c0 = r.id",
            f"SELECT {columns} FROM {source.text} UNION ALL SELECT * FROM VALUES ({', '.join(self.literal(of) for of in types)})",
            f"SELECT r.id, {columns} FROM range(2) r CROSS JOIN {source.text}",
            f"SELECT c0, {firsts} FROM (SELECT {columns} FROM {source.text} ORDER BY c0 LIMIT 1) {name} GROUP BY c0",
        ])
        return Query(text, types)

    def nested(self, depth, _):
        """Functions of arrays, maps and structs."""
        ints, texts, structs = "array<int>", "array<string>", "array<struct<a:bigint,b:array<double>>>"
        types = [ints, texts, structs, "map<string,int>", "struct<a:int,b:string>", "int", "string"]
        source = self.source(types, 2)
        name = self.alias(source)
        i, t, s, m, r, n, x = (f"{name}.c{place}" for place in range(7))
        small = self.rng.randint(-3, 3)
        choices = [
            (f"size({self.pick([i, t, s, m])})", "int"), (f"{i}[{abs(small)}]", "int"), (f"element_at({i}, {small or 1})", "int"), (f"try_element_at({t}, {small or 1})", "string"),
            (f"element_at({m}, {x})", "int"), (f"{m}['a']", "int"), (f"array_contains({i}, {n})", "boolean"), (f"array_contains({t}, {x})", "boolean"), (f"sort_array({i}, {self.pick(['true', 'false'])})", ints),
            (f"sort_array({t})", texts), (f"array_distinct({i})", ints), (f"array_join({t}, ', ')", "string"), (f"concat({i}, array({n}), {i})", ints), (f"slice({t}, {small or 1}, {self.rng.randint(0, 3)})", texts),
            (f"array_min({i})", "int"), (f"array_max({t})", "string"), (f"flatten(array({i}, {i}))", ints), (f"map_keys({m})", texts), (f"map_values({m})", ints), (f"{r}.a", "int"), (f"{r}.b", "string"),
            (f"transform({s}, e -> e.a)[0]", "bigint"), (f"{s}[0].a", "bigint"), (f"element_at({s}.a, 1)", "bigint"), (f"size({s}.b[0])", "int"), (f"{i} IS NULL", "boolean"), (f"coalesce({i}, array({n}))", ints),
            (f"named_struct('a', {n}, 'b', {x})", "struct<a:int,b:string>"), (f"map_entries({m})[0].value", "int"), (f"hash({i}, {r}, {t})", "int"), (f"map({n}, {x})[{n}]", "string"),
            *self.lambdas(i, t, s, m, n, x),
        ]
        chosen = self.rng.sample(choices, 4)
        items = ", ".join(f"{item} AS c{place}" for place, (item, _) in enumerate(chosen))
        return Query(f"SELECT {items} FROM {source.text}", [of for _, of in chosen], source.ordered)

    def compared(self, depth, _):
        """What compares arrays and structs, of whatever the columns have."""
        if depth > 0:
            return self.filtered(depth, None)
        types = [self.pick([*TYPES, ONLY_CARRIED[1]]) for _ in range(self.rng.randint(1, 4))]
        source = self.source(types if self.chance(0.8) else None, 2)
        name = self.alias(source)
        places = [self.rng.randrange(len(source.types)) for _ in range(2)]
        types = [source.types[n] for n in places]
        shape = self.pick(["array({0})", "array({0}, {1})", "named_struct('x', {0}, 'y', {2})", "named_struct('x', array({0}, NULL), 'y', {2})", "array(named_struct('x', {0}, 'y', {2}), NULL)", "named_struct('y', named_struct('x', {0}), 'z', array({1}))"])
        shape = self.pick([shape, shape, f"IF({self.predicate(name, source.types)}, {shape}, NULL)"])

        def value(alias):
            """Of a row; of none without an alias."""
            first, second = [f"{alias}.c{n}" if alias and self.chance(0.8) else self.literal(of) for n, of in zip(places, types)]
            return shape.format(first, self.literal(types[0]), second)

        one, other, third = value(name), value(name), value(None)
        columns = ", ".join(f"{name}.c{n}" for n in range(len(source.types)))
        keys = f"{one} {self.pick(['', 'DESC', 'ASC NULLS LAST', 'DESC NULLS FIRST'])}, {columns}"
        limit = self.pick(["", "", f" LIMIT {self.rng.randint(1, 4)}"])
        operator = self.pick(["=", "<=>", "<", "<=", ">", ">=", "<>"])
        by = self.pick(["", f" GROUP BY {name}.c0"])
        window = f"({self.pick(['', f'PARTITION BY {name}.c0 '])}ORDER BY {keys}"
        hint, join = self.pick(["", "/*+ MERGE(r) */ ", "/*+ SHUFFLE_HASH(r) */ ", "/*+ BROADCAST(r) */ "]), self.pick(["JOIN", "LEFT JOIN", "FULL JOIN", "LEFT SEMI JOIN"])
        same = f"(SELECT {one} AS k FROM {source.text}) l {join} (SELECT {other} AS k FROM {source.text}) r ON l.k {self.pick(['=', '=', '<=>', '<'])} r.k"
        text, ordered = self.pick([
            (f"SELECT {one} {operator} {other} AS c0, {one} {operator} {third} AS c1, {one} IN ({other}, {third}) AS c2 FROM {source.text}", source.ordered),
            (f"SELECT greatest({one}, {other}) AS c0, least({one}, {third}) AS c1, nullif({one}, {other}) AS c2 FROM {source.text}", source.ordered),
            (f"SELECT {columns} FROM {source.text} WHERE {one} {operator} {self.pick([other, third])}", source.ordered),
            (f"SELECT {columns} FROM {source.text} WHERE NOT {one} IN ({', '.join(value(None) for _ in range(12))})", source.ordered),
            (f"SELECT max({one}) AS c0, min({one}) AS c1, count(*) AS c2 FROM {source.text}{by}", False),
            (f"SELECT max({one}) FILTER (WHERE {self.predicate(name, source.types)}) AS c0, max(DISTINCT {other}) AS c1, count(DISTINCT {name}.c0) AS c2 FROM {source.text}{by}", False),
            (f"SELECT {columns} FROM {source.text} ORDER BY {keys}{limit}", True),
            (f"SELECT {columns}, rank() OVER {window}) AS r, max({other}) OVER {window} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS m FROM {source.text}", False),
            (f"SELECT sort_array(array({one}, {other}, NULL, {third}), {self.pick(['true', 'false'])}) AS c0, array_max(array({one}, {other})) AS c1, array_min(array({third}, {one})) AS c2 FROM {source.text}", source.ordered),
            (f"SELECT array_contains(array({one}, {third}), {other}) AS c0, array_position(array({one}, {third}), {other}) AS c1, size(array_distinct(array({one}, {other}, {third}))) AS c2 FROM {source.text}", source.ordered),
            (f"SELECT /*+ REPARTITION_BY_RANGE(3, k) */ * FROM (SELECT {one} AS k FROM {source.text})", False),
            (f"SELECT {hint}l.k FROM {same}", False),
        ])
        return Query(text, ["int"], ordered=ordered)

    def lambdas(self, i, t, s, m, n, x):
        """Functions of lambdas over such columns."""
        ints, texts, of = "array<int>", "array<string>", self.rng.randint(-2, 3)
        return [
            (f"transform({i}, e -> {self.pick(['e', f'coalesce(e, {n})', f'if(e > {of}, {n}, e)', 'size(' + t + ')'])})", ints), (f"transform({t}, (e, n) -> {self.pick(['concat(e, n)', f'coalesce(e, {x})', f'if(n = {abs(of)}, NULL, e)'])})", texts),
            (f"filter({i}, e -> {self.pick([f'e > {of}', f'e = {n}', 'e IS NULL', 'NULL'])})", ints), (f"filter({t}, (e, n) -> n > {of} OR e < {x})", texts), (f"exists({i}, e -> e > {n})", "boolean"), (f"forall({t}, e -> e = {x} OR e LIKE '%a%')", "boolean"), (f"exists({s}, e -> e.a > {n})", "boolean"),
            (f"aggregate({i}, {of}L, (acc, e) -> acc + coalesce(e, 1))", "bigint"), (f"aggregate({t}, {x}, (acc, e) -> coalesce(e, acc), acc -> length(acc))", "int"), (f"zip_with({i}, {t}, (a, b) -> coalesce(b, CAST(a AS string)))", texts), (f"zip_with({i}, transform({t}, e -> length(e)), (a, b) -> b)", ints),
            (f"map_filter({m}, (k, v) -> v > {of} OR k = {x})", "map<string,int>"), (f"transform_values({m}, (k, v) -> if(k = {x}, {n}, v))", "map<string,int>"), (f"transform({i}, e -> size(filter({t}, x -> length(x) > e)))", ints), (f"filter({s}, e -> size(filter(e.b, d -> d > {of})) >= 0)", "array<struct<a:bigint,b:array<double>>>"),
        ]

    def distinct(self, depth, _):
        source = self.source(None, depth)
        return Query(f"SELECT DISTINCT * FROM {source.text}", source.types)

    def ordered(self, depth, _):
        source = self.source(None, depth)
        keys = ", ".join(f"{n + 1} {self.pick(['', 'DESC', 'ASC NULLS LAST', 'DESC NULLS FIRST'])}" for n in range(len(source.types)))
        return Query(f"SELECT * FROM {source.text} ORDER BY {keys}", source.types, ordered=depth == 0)

    def limited(self, depth, _):
        query = self.ordered(depth, None)
        offset = f" OFFSET {self.rng.randint(1, 3)}" if self.chance(0.2) else ""
        return Query(f"{query.text} LIMIT {self.rng.randint(0, 4)}{offset}", query.types, ordered=depth == 0)

    def windowed(self, depth, _):
        # Windows of rows that are sorted by all their columns: those of one place are equal, but for the sign of zeros.
        if depth > 0:
            return self.grouped(depth, None)
        source = self.source(None, depth)
        name = self.alias(source)
        places = list(range(len(source.types)))
        keys = [n for n in places if self.chance(0.3)][:2]
        self.rng.shuffle(places)
        order = ", ".join(f"{name}.c{n} {self.pick(['', 'DESC', 'ASC NULLS LAST', 'DESC NULLS FIRST'])}" for n in places)
        partition = f"PARTITION BY {', '.join(f'{name}.c{n}' for n in keys)} " if keys else ""
        bounds = ["UNBOUNDED PRECEDING", f"{self.rng.randint(0, 3)} PRECEDING", "CURRENT ROW", f"{self.rng.randint(0, 3)} FOLLOWING", "UNBOUNDED FOLLOWING"]
        low = self.rng.randint(0, 3)
        high = self.rng.randint(max(low, 1) + (low in (1, 3)), 4)
        frame = f"ROWS BETWEEN {bounds[low]} AND {bounds[high]}"
        if self.chance(0.3):
            frame = f"RANGE BETWEEN {self.pick(bounds[:3:2])} AND {self.pick(bounds[2::2])}"
        items, types, sums = ["*"], list(source.types), []
        for _ in range(self.rng.randint(1, 3)):
            place = self.rng.randrange(len(source.types))
            column, of = f"{name}.c{place}", source.types[place]
            ranks = [("row_number()", "int"), ("rank()", "int"), ("dense_rank()", "int"), ("percent_rank()", "double"), ("cume_dist()", "double"), ("ntile(2)", "int")]
            rows = self.rng.randint(0, 3)
            ranks += [(f"lead({column}, {rows})", of), (f"lag({column}, {rows}, {self.literal(of)})", of)]
            ranks += [(f"lag({column}, {rows + 1}) IGNORE NULLS", of), (f"lead({column}, {rows + 1}) IGNORE NULLS", of)]
            choices = [("count(*)", "bigint"), (f"count({column})", "bigint"), (f"min({column})", of), (f"max({column})", of), (f"first({column})", of)]
            choices += [(f"last({column}, true)", of), (f"nth_value({column}, 2)", of), (f"nth_value({column}, 2) IGNORE NULLS", of)]
            if of in ("int", "tinyint"):
                choices += [(f"sum({column})", "bigint"), (f"avg({column})", "double")]
            if of in ("double", "float"):
                choices += [(f"sum({column})", "double"), (f"avg({column})", "double"), (f"stddev({column})", "double")]
            if of == "decimal(10,2)":
                choices += [(f"sum({column})", "decimal(20,2)"), (f"avg({column})", "decimal(14,6)")]
            by = f"{name}.c{self.rng.choice(places)}"
            if of not in ("double", "float"):
                choices += [(f"max_by({column}, {by})", of), (f"min_by({column}, {by})", of), (f"approx_count_distinct({column})", "bigint")]
            if of in ("int", "string"):
                choices += [(f"collect_list({column})", f"array<{of}>"), (f"collect_set({column})", f"array<{of}>")]
            if of == "int":
                choices += [(f"bit_xor({column})", "int"), (f"percentile({column}, 0.25)", "double"), (f"percentile_approx({column}, 0.5)", "int")]
            ranked = self.chance(0.4)
            item, result = self.pick(ranks if ranked else choices)
            if result == "double" and item.startswith(("sum", "avg", "stddev")):
                sums.append(len(types))
            items.append(f"{item} OVER ({partition}ORDER BY {order}{'' if ranked else ' ' + frame}) AS c{len(types)}")
            types.append(result)
        types = [of if of in LITERALS else "decimal(38,10)" for of in types]
        return Query(f"SELECT {', '.join(items)} FROM {source.text}", types, sums=sums)

    def lateral(self, depth, _):
        left, right = self.source(None, depth), self.source(None, depth + 1)
        one, other = self.alias(left), self.alias(right)
        place = self.rng.randrange(len(left.types))
        text = f"SELECT {one}.c{place} AS c0, l.x AS c1 FROM {left.text}, LATERAL (SELECT {other}.c0 AS x FROM {right.text} WHERE {one}.c{place} IS NOT NULL) l"
        return Query(text, [left.types[place], right.types[0]])

    def scalar(self, depth, _):
        source, inner = self.source(None, depth), self.source(None, depth + 1)
        of = self.alias(inner)
        text = f"SELECT *, (SELECT max({of}.c0) FROM {inner.text}) AS c{len(source.types)} FROM {source.text}"
        return Query(text, source.types + [inner.types[0]], source.ordered)

    def alone(self, depth, _):
        """Without FROM."""
        inner = self.source(None, depth + 1)
        of = self.alias(inner)
        function = self.pick(["max", "min"])
        literal = self.pick(TYPES)
        where = self.pick(["", "", f" WHERE (SELECT count(*) FROM {inner.text}) > {self.rng.randint(0, 3)}"])
        text = f"SELECT {self.literal(literal)} AS c0, (SELECT {function}({of}.c0) FROM {inner.text}) AS c1{where}"
        return Query(text, [literal, inner.types[0]], ordered=depth == 0)

    def spread(self, depth, _):
        source = self.source(None, depth)
        name = self.alias(source)
        hint = self.pick(["REPARTITION(2)", "REPARTITION(3, c0)", "COALESCE(1)", "REPARTITION_BY_RANGE(2, c0)", "REBALANCE"])
        return Query(f"SELECT /*+ {hint} */ {', '.join(f'{name}.c{n} AS c{n}' for n in range(len(source.types)))} FROM {source.text}", source.types)

    def shared(self, depth, _):
        inner = self.query(depth + 1)
        columns = self.columns(inner.types)
        last = len(inner.types) - 1
        text, types = self.pick([
            ("SELECT * FROM w UNION ALL SELECT * FROM w", inner.types),
            (f"SELECT a.c0 AS c0, b.c{last} AS c1 FROM w a JOIN w b ON a.c0 = b.c0", [inner.types[0], inner.types[last]]),
            (f"SELECT a.c0 AS c0 FROM w a WHERE a.c0 NOT IN (SELECT c0 FROM w WHERE c{last} IS NOT NULL)", inner.types[:1]),
        ])
        return Query(f"WITH w({columns}) AS ({inner.text}) {text}", types)


def make(seed, number):
    """Query `number`: in which session, with which action, its text and how its answer is compared."""
    rng = random.Random(f"{seed} {number}")
    session = rng.randrange(len(SESSIONS))
    query = Maker(rng).query()
    action = rng.choice(["collect"] * 8 + ["count", "take", "tail", "iterate"])
    if action in ("take", "tail") and not query.ordered:
        action = "collect"
    return session, action, query


def text(value, zeros, rounded):
    """A value such that equal texts are equal values to the last bit, but for what `zeros` and `rounded` leave open."""
    if isinstance(value, float):
        if math.isnan(value) or (rounded and math.isinf(value)):
            return "NaN"
        if zeros and value == 0:
            value = 0.0
        return f"{value:.9e}" if rounded else value.hex()
    if isinstance(value, (bytes, bytearray)):
        return "x" + bytes(value).hex()
    if isinstance(value, dict):
        return [[text(key, zeros, rounded), text(of, zeros, rounded)] for key, of in value.items()]
    if isinstance(value, (list, tuple)):
        return [text(of, zeros, rounded) for of in value]
    return None if value is None else f"{type(value).__name__} {value}"


def error_class(error):
    """Such as DIVIDE_BY_ZERO."""
    found = re.search(r"\[([A-Z_0-9.]+)\]", str(error))
    return found[1] if found else type(error).__name__


def asked(spark, action, query):
    frame = spark.sql(query.text)
    if action == "count":
        return [str(frame.count())]
    rows = {"collect": frame.collect, "take": lambda: frame.take(3), "tail": lambda: frame.tail(2), "iterate": lambda: list(frame.toLocalIterator())}[action]()
    rows = [json.dumps([text(value, query.zeros, place in query.sums) for place, value in enumerate(row)]) for row in rows]
    return rows if query.ordered else sorted(rows)


def answer(sessions, seed, number):
    session, action, query = make(seed, number)
    try:
        rows = asked(sessions[session], action, query)
        found = {"rows": len(rows), "digest": hashlib.md5("\n".join(rows).encode()).hexdigest()[:16], "first": rows[:4]}
    except Exception as error:
        # Not part of the answer: it names hosts and numbers of tasks.
        print(f"query {number}: {error}", file=sys.stderr)
        found = {"error": error_class(error)}
    return {"session": session, "action": action, "query": query.text} | found


def views(spark):
    """Data frames that Python makes, as views."""
    rows = [(1, 1.5, "a", datetime.date(2020, 1, 1)), (2, float("nan"), "", datetime.date(1582, 10, 4)), (None, -0.0, None, None), (3, None, "äöü€", datetime.date(9999, 12, 31))]
    schema = "c0 bigint, c1 double, c2 string, c3 date"
    spark.createDataFrame(rows, schema).createOrReplaceTempView("from_list")
    spark.createDataFrame([], schema).createOrReplaceTempView("from_empty_list")
    import pandas

    of = {"c0": [7, 1, 2], "c1": [0.0, float("inf"), 2.5], "c2": ["x", "a", None], "c3": [datetime.date(1969, 12, 31), None, datetime.date(2020, 1, 1)]}
    frame = pandas.DataFrame(of)
    spark.createDataFrame(frame, schema).createOrReplaceTempView("from_pandas")
    spark.createDataFrame(frame.iloc[:0], schema).createOrReplaceTempView("from_empty_pandas")


def counters(spark):
    """The tasks of each executor as the driver counted them."""
    spark._jsparkSession.sparkContext().listenerBus().waitUntilEmpty()
    counters = {}
    store = spark._jsparkSession.sparkContext().statusStore()
    executors = store.executorList(False)
    for at in range(executors.size()):
        executor = executors.apply(at)
        if executor.id() != "driver":
            counters[executor.id()] = {"finished": executor.completedTasks(), "failed": executor.failedTasks(), "active": executor.activeTasks()}
    return counters


def main():
    result, seed = sys.argv[1:3]
    first, count = int(sys.argv[3]), int(sys.argv[4])
    threads = int(sys.argv[5]) if len(sys.argv) > 5 else 2
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "UTC").config("spark.sql.leafNodeDefaultParallelism", "2")
    spark = builder.config("spark.sql.execution.arrow.pyspark.enabled", "true").config("spark.ui.retainedStages", "10").config("spark.sql.ui.retainedExecutions", "5").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    sessions = []
    for settings in SESSIONS:
        session = spark.newSession()
        for key, value in settings.items():
            session.conf.set(key, value)
        views(session)
        sessions.append(session)
    numbers = range(first, first + count)
    answers = {}
    if first == 0:
        for place, query in enumerate(FIXED):
            for at, session in enumerate(sessions):
                answers[f"fixed {place} in session {at}"] = {"query": query, "rows": asked(session, "collect", Query(query, []))}
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        answers |= zip(map(str, numbers), pool.map(lambda number: answer(sessions, seed, number), numbers))
    errors = sum("error" in found for found in answers.values())
    print(f"{count} queries, {errors} with errors", flush=True)
    with open(result, "w") as out:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}, "counters": counters(spark)}, out, indent=0, sort_keys=True)
    spark.stop()


if __name__ == "__main__":
    main()
