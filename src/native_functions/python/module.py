"""Native functions of a shared library, for PySpark.

Made by `firesteel functions python`: not to be changed. `register(spark)` makes the functions known to SQL; functions
are also attributes of this module, which make columns (or, of a data frame, a data frame).

PySpark takes each function for a user's own. Plain Spark runs it in Python workers, which load the library as Firesteel
does and call it through the Arrow C interface. Firesteel knows a function by its marker and needs no Python.
"""

# `firesteel functions python` writes this file, module_library.py and module_types.py one after the other into one.
#
# Names without an underscore are for users: those here and those of the functions. Therefore the underscores. pyarrow
# and pyspark are imported where they are needed, so that the module can be imported without them.
import itertools as _itertools
import json as _json
import os as _os
import warnings as _warnings

# The literal, with its quotes, is replaced by the text of the module's JSON as a JSON string, of which every one is a
# Python literal of the same text as long as characters beyond U+FFFF are not escaped.
MODULE = _json.loads("@MODULE@")
_LIBRARY = f"{MODULE['library']} ({MODULE['name']} {MODULE['version']})"


def register(spark, *names):
    """Sends library and module to the executors and makes functions known to SQL: those named, else all that can be."""
    distribute(spark)
    functions = _functions()
    for name in names or [name for name in functions if _by_default(functions[name])]:
        if name not in functions:
            raise ValueError(f"{_LIBRARY} has no function '{name}', only {', '.join(sorted(functions))}")
        native = functions[name]
        if native.kind == "partition":
            raise ValueError(f"'{name}' takes a data frame: call {__name__}.{name}(data_frame)")
        if native.not_in_spark():
            raise NotImplementedError(native.not_in_spark())
        registry = spark.udtf if native.kind == "table" else spark.udf
        registry.register(name, _spark_function(native))


def distribute(spark):
    """Sends library and module to the executors, unless they are sent already."""
    module = _os.path.abspath(__file__)
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        if spark.session_id not in _sessions:
            spark.addArtifacts(_local_library(), file=True)
            spark.addArtifacts(module, pyfile=True)
            _sessions.add(spark.session_id)
        return
    context = spark.sparkContext
    sent = {_os.path.basename(path) for path in list(context.listFiles) + list(context._python_includes or [])}
    for key in ("spark.files", "spark.submit.pyFiles", "spark.yarn.dist.files", "spark.yarn.dist.pyFiles"):
        sent.update(_os.path.basename(path.strip()) for path in context.getConf().get(key, "").split(","))
    if MODULE["library"] not in sent:
        context.addFile(_local_library())
    # A module in an archive is where that archive is.
    if _os.path.basename(module) not in sent and _os.path.isfile(module):
        context.addPyFile(module)


_sessions = set()


def __getattr__(name):
    functions = _functions()
    if name.startswith(_TABLE) and name[len(_TABLE) :] in functions:
        return _table_class(functions[name[len(_TABLE) :]])
    if name in functions:
        return _spark_function(functions[name])
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted(set(globals()) | set(_functions()))


def _spark_version():
    import pyspark

    return tuple(int(part) for part in pyspark.__version__.split(".")[:2])


def _by_default(native):
    reason = native.not_in_spark()
    if reason:
        _warnings.warn(f"{reason}; it is left out")
    return native.kind != "partition" and not reason


def _functions():
    """The functions by their names: the first signature has the function's name, others end in their number."""
    if not _made:
        made = [_NativeFunction(f, n) for f in MODULE["functions"] for n in range(len(f["signatures"]))]
        _made.update({native.__name__: native for native in made})
    return _made


_made = {}


def _spark_function(native):
    # Made anew each time: PySpark's objects keep the SparkContext that they were first used with.
    reason, result = native.not_in_spark(), _spark_type(native.result)
    if reason:
        return _refusing(reason)
    if native.kind == "partition":
        return lambda data_frame: data_frame.mapInArrow(native, result)
    if native.kind == "table":
        from pyspark.sql.functions import udtf

        table = udtf(_table_class(native), returnType=result, useArrow=False)
        return table if native.volatile else table.asDeterministic()
    if native.kind == "aggregate":
        made = _aggregate_udf(native, result)
    elif native.arguments and _spark_version() >= (4, 1):
        from pyspark.sql.functions import arrow_udf

        made = arrow_udf(native, result)
    else:
        # Spark gives a function of Arrow arrays without arguments no number of rows. Older versions have functions of
        # pandas' series only, which take null and NaN for the same and big integers for doubles.
        from pyspark.sql.functions import udf

        made = udf(native, result, useArrow=False)
    return made.asNondeterministic() if native.volatile else made


def _refusing(reason):
    def refuse(*columns):
        raise NotImplementedError(reason)

    return refuse


def _aggregate_udf(native, result):
    from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

    with _warnings.catch_warnings():
        # PySpark would rather read the kind from type hints.
        _warnings.simplefilter("ignore", UserWarning)
        return arrow_udf(native, result, ArrowUDFType.GROUPED_AGG)


def _table_class(native):
    # PySpark takes table functions as classes, and pickles a class of an importable module by its name.
    def evaluate(self, *arguments):
        return self.native.rows(arguments)

    name = _TABLE + native.__name__
    members = {"eval": evaluate, "native": native, "__module__": __name__, "__doc__": native.__doc__}
    return globals().setdefault(name, type(name, (), members))


_TABLE = "_native_table_v1_"


def _native_function_v1(marker):
    for native in _functions().values():
        if native.marker == marker:
            # Of its own for each that is unpickled: it keeps what is bound for a task.
            return _NativeFunction(native.function, native.signature)
    raise RuntimeError(f"{_LIBRARY}, which {__file__} was made for, has not the function that the job wants: {marker}")


class _NativeFunction:
    """One signature of a function. Its pickled form is its marker and `_native_function_v1` that takes it."""

    def __init__(self, function, signature):
        self.function = function
        self.signature = signature
        self.__name__ = function["name"] + (f"_{signature}" if signature else "")
        self.__doc__ = function["description"]
        self.kind = function["kind"]
        self.volatile = function["volatility"] == "volatile"
        self.skips_nulls = function["nulls"] == "skipped"
        types = function["signatures"][signature]
        # A partition function without types takes any columns: None.
        partition = self.kind == "partition"
        self.arguments = _columns(types["arguments"])[1:] or None if partition else _types(types["arguments"])
        self.result = (_columns if self.kind in ("partition", "table") else _type)(types["result"])
        named = {"function": function["name"], "library": MODULE["library"], "module": MODULE["name"]}
        named.update(signature=signature, version=MODULE["version"])
        self.marker = "firesteel-function:" + _json.dumps(named, sort_keys=True, separators=(",", ":"))
        self.instance = None
        self.takers = None

    def __reduce__(self):
        return _native_function_v1, (self.marker,)

    def __call__(self, *arguments):
        if self.kind == "partition":
            return self.partition(*arguments)
        self.check_count(arguments)
        if self.kind == "aggregate":
            return self.aggregate(arguments)
        if arguments and hasattr(arguments[0], "_export_to_c"):
            return self.batch(arguments)
        return self.row(arguments)

    def __str__(self):
        return f"Native function '{self.__name__}' of {_LIBRARY}"

    def not_in_spark(self):
        """Why PySpark cannot call the function; None if it can."""
        if self.kind != "aggregate":
            return None
        if not self.arguments:
            return f"{self} has no arguments, and PySpark tells such an aggregate no number of rows"
        if _spark_version() < (4, 1):
            return f"{self} is an aggregate, for which PySpark 4.1 or newer is needed"
        return None

    def check_count(self, arguments):
        if len(arguments) != len(self.arguments):
            raise TypeError(f"{self} takes {len(self.arguments)} arguments, not {len(arguments)}")

    def bound(self, zone=None):
        """The instance of this task. `zone` is that of the arguments, if they have one."""
        from pyspark import TaskContext

        context = TaskContext.get()
        key = context.taskAttemptId() if context else -1, zone
        if self.instance is None or self.instance.key != key:
            self.instance = _Instance(self, key, context)
        return self.instance

    # Values as they come from pickles, one row at a time

    def row(self, values):
        if self.skips_nulls and None in values:
            return None
        instance = self.bound()
        result = instance.execute(self.arrays(values), 1, instance.plain_result, with_row=False)
        return self.python(instance.give, result[0].as_py())

    def arrays(self, values):
        import pyarrow as pa

        if self.takers is None:
            self.takers = [(_taker(a, widening=True), _arrow_type(a, None), a) for a in self.arguments]
        arrays = []
        for value, (take, plain, wanted) in zip(values, self.takers):
            try:
                arrays.append(pa.array([value if value is None else take(value)], plain))
            except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
                given = type(value).__name__
                given += "" if str(error) == given else f" ({error})"
                raise self.mismatch(f"argument {len(arrays) + 1}", given, _word(wanted)) from None
        return arrays

    def mismatch(self, what, given, wanted):
        return TypeError(f"{self}: {what} is {given}, not {wanted}")

    def python(self, give, value):
        try:
            return give(value)
        except (OverflowError, ValueError) as error:
            raise RuntimeError(f"{self} gave a value that Python does not have: {error}") from error

    def rows(self, values):
        """The rows that a table function gives for the arguments of a call."""
        import pyarrow as pa

        self.check_count(values)
        if self.skips_nulls and None in values:
            return
        instance = self.bound()
        columns = [_reinterpreted(a, t) for a, t in zip(self.arrays(values), instance.types)]
        batch = pa.RecordBatch.from_struct_array(_struct_array(columns, 1))
        expected = (("call", ("bigint",)), ("row", self.result))
        for output in instance.open(batch.schema, iter([batch]), expected, with_row=False):
            calls, rows = output.columns
            if calls.null_count or rows.null_count or any(call != 0 for call in calls.to_pylist()):
                raise RuntimeError(f"{self} gave rows of calls that there are not")
            for value in _reinterpreted(rows, instance.plain_result).to_pylist():
                yield self.python(instance.give, value)

    # Arrow arrays

    def batch(self, columns):
        import pyarrow as pa

        rows = len(columns[0])
        instance = self.bound(_zone_of(column.type for column in columns))
        columns = self.widened(columns, instance)
        valid = self.valid(columns) if self.skips_nulls else None
        if valid is None:
            return instance.execute(columns, rows, instance.result)
        import pyarrow.compute as pc

        kept = pc.indices_nonzero(valid)
        if not len(kept):
            return pa.nulls(rows, instance.result)
        columns = [column.take(kept) for column in columns]
        result = instance.execute(columns, len(kept), instance.result, kept=kept)
        places = pc.subtract(pc.cumulative_sum(valid.cast(pa.int64())), 1)
        return result.take(pc.if_else(valid, places, None))

    def aggregate(self, columns):
        rows = len(columns[0])
        instance = self.bound(_zone_of(column.type for column in columns))
        columns = self.widened(columns, instance)
        valid = self.valid(columns) if self.skips_nulls else None
        kept = None
        if valid is not None:
            import pyarrow.compute as pc

            kept = pc.indices_nonzero(valid)
            columns, rows = [column.take(kept) for column in columns], len(kept)
        try:
            instance.update(columns, rows, kept)
            return instance.finish()[0]
        except BaseException:
            # What an aggregate keeps of a group that failed is not for the next.
            self.instance = None
            raise

    def valid(self, columns):
        """True for each row without nulls; None if there are no nulls."""
        import pyarrow.compute as pc

        masks = [column.is_valid() for column in columns if column.null_count]
        valid = masks[0] if masks else None
        for mask in masks[1:]:
            valid = pc.and_(valid, mask)
        return valid

    def widened(self, columns, instance):
        widened = []
        for column, wanted, arrow in zip(columns, self.arguments, instance.types):
            column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
            result = _widened(column, wanted, arrow)
            if result is None:
                raise self.mismatch(f"argument {len(widened) + 1}", column.type, _word(wanted))
            widened.append(result)
        return widened

    # Partitions

    def partition(self, batches):
        import pyarrow as pa
        from pyspark import TaskContext

        batches, context = iter(batches), TaskContext.get()
        first = next(batches, None)
        if first is None:
            # PySpark does not tell what columns a partition without rows has.
            zone = _session_zone(context)
            schema = pa.schema([pa.field(name, _arrow_type(t, zone)) for name, t in self.arguments or ()])
        else:
            schema, batches = first.schema, _itertools.chain([first], batches)
        if self.arguments is not None:
            self.check_columns("the input", schema, self.arguments)
        instance = _Instance(self, (None, _zone_of(schema.types)), context, pa.struct(list(schema)))
        names = [name for name, _ in self.result[1:]]
        for batch in instance.open(schema, batches, self.result[1:]):
            yield pa.RecordBatch.from_arrays(batch.columns, names)

    def check_columns(self, what, schema, wanted):
        if len(schema) != len(wanted):
            raise self.mismatch(what, f"of {len(schema)} columns", f"of {len(wanted)}")
        for field, (name, t) in zip(schema, wanted):
            if not _same_type(field.type, t):
                raise self.mismatch(f"column '{name}' of {what}", field.type, _word(t))
