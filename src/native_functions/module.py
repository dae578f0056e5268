"""Native functions of a shared library, for PySpark.

Made by `firesteel functions python`: not to be changed. `register(spark)` makes the functions known to SQL; functions
are also attributes of this module, which make columns (or, of a data frame, a data frame).

PySpark takes each function for a user's own. Plain Spark runs it in Python workers, which load the library as Firesteel
does and call it through the Arrow C interface. Firesteel knows a function by its marker and needs no Python.
"""

# Whatever has no underscore is for callers, and so are the names of functions: therefore the underscores.
import ctypes as _ctypes
import datetime as _datetime
import decimal as _decimal
import itertools as _itertools
import json as _json
import os as _os
import re as _re
import sys as _sys
import threading as _threading
import time as _time
import warnings as _warnings
import weakref as _weakref

# The literal, with its quotes, is replaced by the text of the module's JSON as a JSON string, of which every one is a
# Python literal of the same text as long as characters beyond U+FFFF are not escaped.
MODULE = _json.loads("@MODULE@")

_KINDS = {"scalar": 1, "aggregate": 2, "partition": 3, "table": 4}
_VOLATILITIES = {"immutable": 1, "stable": 2, "volatile": 3}
_NULLS = {"given": 1, "skipped": 2}
_STATUSES = {1: "the arguments are not taken", 2: "", 3: "out of memory", 4: "cancelled", 5: "internal error"}
_LEVELS = {1: "ERROR", 2: "WARN", 3: "INFO", 4: "DEBUG"}


# --- Calls for users --------------------------------------------------------------------------------------------------


def register(spark, *names):
    """Sends library and module to the executors and makes functions known to SQL: those named, else all that can be."""
    distribute(spark)
    for name in names or [name for name in _FUNCTIONS if _by_default(name)]:
        function = _FUNCTIONS[name].function if name in _FUNCTIONS else None
        if function is None:
            raise ValueError(f"{_LIBRARY} has no function '{name}', only {', '.join(sorted(_FUNCTIONS))}")
        if function["kind"] == "partition":
            raise ValueError(f"'{name}' takes a data frame: call {__name__}.{name}(data_frame)")
        registry = spark.udtf if function["kind"] == "table" else spark.udf
        registry.register(name, _spark_function(name))


def distribute(spark):
    """Sends library and module to the executors, unless they are sent already."""
    library, module = _local_library(), _os.path.abspath(__file__)
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        if spark.session_id not in _sessions:
            spark.addArtifacts(library, file=True)
            spark.addArtifacts(module, pyfile=True)
            _sessions.add(spark.session_id)
        return
    context = spark.sparkContext
    sent = {_os.path.basename(path) for path in list(context.listFiles) + list(context._python_includes or [])}
    for key in ("spark.files", "spark.submit.pyFiles", "spark.yarn.dist.files", "spark.yarn.dist.pyFiles"):
        sent.update(_os.path.basename(path.strip()) for path in context.getConf().get(key, "").split(","))
    if MODULE["library"] not in sent:
        context.addFile(library)
    # A module in an archive is where that archive is.
    if _os.path.basename(module) not in sent and _os.path.isfile(module):
        context.addPyFile(module)


_sessions = set()


def __getattr__(name):
    if name.startswith(_TABLE) and name[len(_TABLE) :] in _FUNCTIONS:
        return _table_class(name[len(_TABLE) :])
    if name in _FUNCTIONS:
        return _spark_function(name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted(set(globals()) | set(_FUNCTIONS))


# --- Functions as PySpark takes them ----------------------------------------------------------------------------------


def _spark_version():
    import pyspark

    return tuple(int(part) for part in pyspark.__version__.split(".")[:2])


def _by_default(name):
    native = _FUNCTIONS[name]
    if native.function["kind"] == "aggregate":
        reason = native.why_no_aggregate()
        if reason:
            _warnings.warn(f"{reason}; it is left out")
        return not reason
    return native.function["kind"] != "partition"


def _spark_function(name):
    # Made anew each time: PySpark's objects keep the SparkContext that they were first used with.
    native = _FUNCTIONS[name]
    kind, result = native.function["kind"], native.result
    if kind == "partition":
        return native.map_partitions
    if kind == "table":
        from pyspark.sql.functions import udtf

        table = udtf(__getattr__(_TABLE + name), returnType=_spark_type(result), useArrow=False)
        return table if native.volatile else table.asDeterministic()
    if kind == "aggregate":
        made = _aggregate_udf(native)
    elif native.arguments and _spark_version() >= (4, 1):
        from pyspark.sql.functions import arrow_udf

        made = arrow_udf(native, _spark_type(result))
    else:
        # Spark gives a function of Arrow arrays without arguments no number of rows. Older versions have functions of
        # pandas' series only, which take null and NaN for the same and big integers for doubles.
        from pyspark.sql.functions import udf

        made = udf(native, _spark_type(result), useArrow=False)
    return made.asNondeterministic() if native.volatile else made


def _aggregate_udf(native):
    reason = native.why_no_aggregate()
    if reason:
        raise NotImplementedError(reason)
    from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

    with _warnings.catch_warnings():
        # PySpark would rather read the kind from type hints.
        _warnings.simplefilter("ignore", UserWarning)
        return arrow_udf(native, _spark_type(native.result), ArrowUDFType.GROUPED_AGG)


def _table_class(name):
    # PySpark takes table functions as classes, and pickles a class of an importable module by its name.
    def evaluate(self, *arguments):
        return self.native.rows(arguments)

    name_of_class = _TABLE + name
    native = _native_function_v1(_FUNCTIONS[name].marker)
    members = {"eval": evaluate, "native": native, "__module__": __name__, "__qualname__": name_of_class}
    return globals().setdefault(name_of_class, type(name_of_class, (), dict(members, __doc__=native.__doc__)))


_TABLE = "_native_table_v1_"


def _native_function_v1(marker):
    head, _, text = marker.partition(":")
    wanted = _json.loads(text)
    for native in _FUNCTIONS.values():
        if native.marker == marker:
            return _NativeFunction(native.function, native.signature)
    raise RuntimeError(f"{_LIBRARY}, which {__file__} was made for, has no function as the job wants it: {wanted}")


class _NativeFunction:
    """One signature of a function. Its pickled form is its marker and `_native_function_v1` that takes it."""

    def __init__(self, function, signature):
        self.function = function
        self.signature = signature
        self.__name__ = function["name"] + (f"_{signature}" if signature else "")
        self.__doc__ = function["description"]
        self.volatile = function["volatility"] == "volatile"
        self.skips_nulls = function["nulls"] == "skipped"
        types = function["signatures"][signature]
        # A partition function without types takes any columns: None.
        of_columns = function["kind"] == "partition"
        self.arguments = _columns(types["arguments"])[1:] or None if of_columns else _types(types["arguments"])
        self.result = (_columns if function["kind"] in ("partition", "table") else _type)(types["result"])
        named = {"function": function["name"], "library": MODULE["library"], "module": MODULE["name"]}
        named.update(signature=signature, version=MODULE["version"])
        self.marker = "firesteel-function:" + _json.dumps(named, sort_keys=True, separators=(",", ":"))
        self.instance = None
        self.takers = None

    def __reduce__(self):
        return _native_function_v1, (self.marker,)

    def __call__(self, *arguments):
        kind = self.function["kind"]
        if kind == "partition":
            return self.partition(*arguments)
        self.check_count(arguments)
        if kind == "aggregate":
            return self.aggregate(arguments)
        if arguments and hasattr(arguments[0], "_export_to_c"):
            return self.batch(arguments)
        return self.row(arguments)

    def __str__(self):
        return f"Native function '{self.__name__}' of {_LIBRARY}"

    def why_no_aggregate(self):
        if not self.arguments:
            return f"{self} has no arguments, and PySpark tells such an aggregate no number of rows"
        if _spark_version() < (4, 1):
            return f"{self} is an aggregate, for which PySpark 4.1 or newer is needed"
        return None

    def check_count(self, arguments):
        if len(arguments) != len(self.arguments):
            raise TypeError(f"{self} takes {len(self.arguments)} arguments, not {len(arguments)}")

    def bound(self, zone=None):
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = context.taskAttemptId() if context else -1
        if self.instance is None or self.instance.key != (attempt, zone):
            self.instance = _Instance(self, zone, attempt, context)
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
                given = f"{type(value).__name__} ({error})"
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

    def map_partitions(self, data_frame):
        return data_frame.mapInArrow(self, _spark_type(self.result))

    def partition(self, batches):
        import pyarrow as pa
        from pyspark import TaskContext

        batches = iter(batches)
        first = next(batches, None)
        if first is None:
            # PySpark does not tell what columns a partition without rows has.
            fields = [pa.field(name, _arrow_type(t, _session_zone())) for name, t in self.arguments or ()]
            schema = pa.schema(fields)
        else:
            schema, batches = first.schema, _itertools.chain([first], batches)
        if self.arguments is not None:
            self.check_columns("the input", schema, self.arguments)
        context = TaskContext.get()
        attempt = context.taskAttemptId() if context else -1
        instance = _Instance(self, _zone_of(schema.types), attempt, context, pa.struct(list(schema)))
        names = [name for name, _ in self.result[1:]]
        for batch in instance.open(schema, batches, self.result[1:]):
            yield pa.RecordBatch.from_arrays(batch.columns, names)

    def check_columns(self, what, schema, wanted):
        if len(schema) != len(wanted):
            raise self.mismatch(what, f"of {len(schema)} columns", f"of {len(wanted)}")
        for field, (name, t) in zip(schema, wanted):
            if not _same_type(field.type, t):
                raise self.mismatch(f"column '{name}' of {what}", field.type, _word(t))


# --- Calls of the library ---------------------------------------------------------------------------------------------


class _Instance:
    """A function that is bound for a task."""

    def __init__(self, native, zone, attempt, context, arguments=None):
        import pyarrow as pa

        self.native, self.key = native, (attempt, zone)
        self.address, self.function = _library().functions[native.function["index"]]
        zone = zone or _session_zone(context)
        self.task, self.kept = _task(context, zone)
        self.message = _ctypes.create_string_buffer(8192)
        self.failure = _Failure(_ctypes.sizeof(_Failure), -1, b"", _ctypes.addressof(self.message), 8192, 0)
        self.types = [] if native.function["kind"] == "partition" else [_arrow_type(a, zone) for a in native.arguments]
        self.result = _arrow_type(native.result, zone)
        self.plain_result = _arrow_type(native.result, None)
        self.give = _giver(native.result)
        self.given, self.taken = _Array(), _Array()
        self.pointers = [_ctypes.addressof(s) for s in (self.task, self.given, self.taken, self.failure)]
        self.pointer = self.bind(arguments or pa.struct([(f"_{i}", t) for i, t in enumerate(self.types)]))

    def bind(self, arguments):
        if not self.function.bind:
            return None
        schema, instance = _Schema(), _ctypes.c_void_p()
        arguments._export_to_c(_ctypes.addressof(schema))
        task, _, _, failure = self.pointers
        place = _ctypes.addressof(instance)
        try:
            signature = self.native.signature
            schema_place = _ctypes.addressof(schema)
            status = self.function.bind(self.address, task, signature, schema_place, None, None, place, failure)
        finally:
            _release(schema)
        self.check(status)
        if self.function.unbind and instance.value:
            # The task lives as long as the instance.
            _weakref.finalize(self, _unbind, self.function.unbind, instance.value, self.task, self.kept)
        return instance.value

    def check(self, status, kept=None, with_row=True):
        """Raises what a status that is not OK says; `kept` has the places of the rows that the function was given."""
        if status == 0:
            return
        length = min(self.failure.message_len, len(self.message))
        message = _ctypes.string_at(self.message, length).decode("utf-8", "replace")
        words = _STATUSES.get(status, f"unknown status {status}")
        sqlstate, row = self.failure.sqlstate.decode("ascii", "replace"), self.failure.row
        self.failure.row, self.failure.sqlstate, self.failure.message_len = -1, b"", 0
        if kept is not None and 0 <= row < len(kept):
            row = kept[row].as_py()
        where = [f"SQLSTATE {sqlstate}"] if sqlstate else []
        where += [f"row {row}"] if row >= 0 and with_row else []
        text = ": ".join(part for part in (words, message) if part) or "no reason given"
        raise RuntimeError(f"{self.native} failed: {text}" + (f" ({', '.join(where)})" if where else ""))

    def export(self, columns, rows):
        _struct_array(columns, rows)._export_to_c(self.pointers[1])

    def imported(self, rows, wanted):
        import pyarrow as pa

        if not self.taken.release:
            raise RuntimeError(f"{self.native} gave no result")
        if self.taken.length != rows:
            length = self.taken.length
            _release(self.taken)
            raise RuntimeError(f"{self.native} gave {length} values for {rows} rows")
        try:
            array = pa.Array._import_from_c(self.pointers[2], wanted)
            array.validate(full=True)
        except (pa.ArrowException, ValueError) as error:
            raise RuntimeError(f"{self.native} gave an array that is not of type {wanted}: {error}") from error
        return array

    def execute(self, columns, rows, wanted, kept=None, with_row=True):
        task, given, taken, failure = self.pointers
        self.export(columns, rows)
        try:
            status = self.function.execute(self.pointer, task, given, taken, failure)
        finally:
            _release(self.given)
        if status:
            self.taken.release = _Array().release
            self.check(status, kept, with_row)
        return self.imported(rows, wanted)

    def update(self, columns, rows, kept):
        task, given, _, failure = self.pointers
        groups = (_ctypes.c_uint32 * max(rows, 1))()
        self.export(columns, rows)
        try:
            status = self.function.update(self.pointer, task, given, _ctypes.addressof(groups), 1, failure)
        finally:
            _release(self.given)
        self.check(status, kept)

    def finish(self):
        task, _, taken, failure = self.pointers
        self.check(self.function.finish(self.pointer, task, 1, taken, failure), with_row=False)
        return self.imported(1, self.result)

    def open(self, schema, batches, expected, with_row=True):
        """Batches of the function's output, as they are asked for."""
        import pyarrow as pa

        raised = []
        source, output = _Stream(), _Stream()
        reader = pa.RecordBatchReader.from_batches(schema, _watched(batches, raised))
        reader._export_to_c(_ctypes.addressof(source))
        task, _, _, failure = self.pointers
        places = _ctypes.addressof(source), _ctypes.addressof(output)
        status = self.function.open(self.pointer, task, *places, failure)
        if status:
            _release(source)
            if raised:
                raise raised[0]
            self.check(status, with_row=with_row)
        try:
            reader = pa.RecordBatchReader._import_from_c(places[1])
            self.native.check_columns("the output", reader.schema, expected)
            while True:
                batch = reader.read_next_batch()
                batch.validate(full=True)
                yield batch
        except StopIteration:
            return
        except (pa.ArrowException, OSError) as error:
            if raised:
                raise raised[0]
            raise RuntimeError(f"{self.native} failed: {error}") from error
        finally:
            # The output is released before the instance.
            reader = None


def _watched(batches, raised):
    # An exception of the input would reach the reader of the output as a text.
    try:
        yield from batches
    except Exception as error:
        raised.append(error)
        raise


def _unbind(unbind, instance, task, kept):
    unbind(instance)


def _release(struct):
    if struct.release:
        struct.release(_ctypes.addressof(struct))


def _struct_array(columns, rows):
    import pyarrow as pa

    if not columns:
        return pa.array([{}] * rows, pa.struct([]))
    return pa.StructArray.from_arrays(columns, [f"_{i}" for i in range(len(columns))])


def _reinterpreted(array, wanted):
    import pyarrow as pa

    moved = _Array()
    array._export_to_c(_ctypes.addressof(moved))
    return pa.Array._import_from_c(_ctypes.addressof(moved), wanted)


def _task(context, zone):
    name = _ctypes.create_string_buffer(zone.encode())
    task = _Task(_ctypes.sizeof(_Task), _library().host_address, None, _Text(_ctypes.addressof(name), len(name) - 1))
    ansi = _property(context, "spark.sql.ansi.enabled") or str(_spark_version() >= (4, 0))
    task.ansi = int(ansi.lower() == "true")
    task.stage_id = task.partition_id = task.attempt_number = task.task_attempt_id = -1
    if context:
        task.stage_id, task.partition_id = context.stageId(), context.partitionId()
        task.attempt_number, task.task_attempt_id = context.attemptNumber(), context.taskAttemptId()
    return task, name


def _property(context, key):
    return context.getLocalProperty(key) if context else None


def _session_zone(context=None):
    from pyspark import TaskContext

    key = "spark.sql.session.timeZone"
    return _property(context or TaskContext.get(), key) or _os.environ.get(key) or "UTC"


# --- The library ------------------------------------------------------------------------------------------------------


class _Text(_ctypes.Structure):
    _fields_ = [("data", _ctypes.c_void_p), ("len", _ctypes.c_size_t)]

    def __str__(self):
        return _ctypes.string_at(self.data, self.len).decode() if self.len else ""


def _call(*arguments, result=_ctypes.c_uint32):
    return _ctypes.CFUNCTYPE(result, *arguments)


_POINTER, _SIZE, _U32, _I64 = _ctypes.c_void_p, _ctypes.c_size_t, _ctypes.c_uint32, _ctypes.c_int64
_RELEASE = _call(_POINTER, result=None)


# Of Arrow's structs, only the places of what is used here.
class _Schema(_ctypes.Structure):
    _fields_ = [("fields", _I64 * 7), ("release", _RELEASE), ("private_data", _POINTER)]


class _Array(_ctypes.Structure):
    _fields_ = [("length", _I64), ("fields", _I64 * 7), ("release", _RELEASE), ("private_data", _POINTER)]


class _Stream(_ctypes.Structure):
    _fields_ = [("fields", _I64 * 3), ("release", _RELEASE), ("private_data", _POINTER)]


class _Host(_ctypes.Structure):
    _fields_ = [
        ("struct_size", _SIZE),
        ("abi_major", _U32),
        ("abi_minor", _U32),
        ("name", _Text),
        ("log", _call(_POINTER, _U32, _Text, result=None)),
        ("is_cancelled", _call(_POINTER, result=_ctypes.c_int32)),
        ("reserve", _call(_POINTER, _SIZE)),
        ("release", _call(_POINTER, _SIZE, result=None)),
    ]


class _Task(_ctypes.Structure):
    _fields_ = [
        ("struct_size", _SIZE),
        ("host", _POINTER),
        ("handle", _POINTER),
        ("time_zone", _Text),
        ("ansi", _U32),
        ("stage_id", _ctypes.c_int32),
        ("partition_id", _ctypes.c_int32),
        ("attempt_number", _ctypes.c_int32),
        ("task_attempt_id", _I64),
    ]


class _Failure(_ctypes.Structure):
    _fields_ = [
        ("struct_size", _SIZE),
        ("row", _I64),
        ("sqlstate", _ctypes.c_char * 8),
        ("message", _POINTER),
        ("message_capacity", _SIZE),
        ("message_len", _SIZE),
    ]


class _Signature(_ctypes.Structure):
    _fields_ = [("arguments", _Text), ("result", _Text)]


class _Function(_ctypes.Structure):
    _fields_ = [
        ("struct_size", _SIZE),
        ("name", _Text),
        ("description", _Text),
        ("kind", _U32),
        ("volatility", _U32),
        ("nulls", _U32),
        ("reserved", _U32),
        ("signatures", _ctypes.POINTER(_Signature)),
        ("signature_count", _SIZE),
        ("data", _POINTER),
        ("bind", _call(_POINTER, _POINTER, _SIZE, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER)),
        ("unbind", _call(_POINTER, result=None)),
        ("execute", _call(_POINTER, _POINTER, _POINTER, _POINTER, _POINTER)),
        ("state", _Text),
        ("update", _call(_POINTER, _POINTER, _POINTER, _POINTER, _U32, _POINTER)),
        ("merge", _call(_POINTER, _POINTER, _POINTER, _POINTER, _U32, _POINTER)),
        ("states", _call(_POINTER, _POINTER, _U32, _POINTER, _POINTER)),
        ("finish", _call(_POINTER, _POINTER, _U32, _POINTER, _POINTER)),
        ("size", _call(_POINTER, result=_SIZE)),
        ("open", _call(_POINTER, _POINTER, _POINTER, _POINTER, _POINTER)),
    ]


class _Module(_ctypes.Structure):
    _fields_ = [
        ("struct_size", _SIZE),
        ("abi_major", _U32),
        ("abi_minor", _U32),
        ("name", _Text),
        ("version", _Text),
        ("functions", _ctypes.POINTER(_POINTER)),
        ("function_count", _SIZE),
    ]


class _Library:
    """The library, loaded and checked against `MODULE`. Libraries are never unloaded, and neither is this."""

    def __init__(self, path):
        import pyspark

        self.path = path
        name = f"pyspark {pyspark.__version__}".encode()
        self.name = _ctypes.create_string_buffer(name)
        # By the types of the fields, whose objects ctypes keeps with the struct.
        types = dict(_Host._fields_)
        text = _Text(_ctypes.addressof(self.name), len(name))
        calls = types["log"](_log), types["is_cancelled"](lambda task: 0)
        calls += types["reserve"](lambda task, size: 0), types["release"](lambda task, size: None)
        self.host = _Host(_ctypes.sizeof(_Host), 1, 0, text, *calls)
        self.host_address = _ctypes.addressof(self.host)
        self.message = _ctypes.create_string_buffer(8192)
        self.failure = _Failure(_ctypes.sizeof(_Failure), -1, b"", _ctypes.addressof(self.message), 8192, 0)
        self.functions = self.load()

    def error(self, reason):
        return RuntimeError(f"{self.path} is not {_LIBRARY} that {__file__} was made for: {reason}")

    def load(self):
        try:
            library = _ctypes.CDLL(self.path)
        except OSError as error:
            raise RuntimeError(f"{_LIBRARY} cannot be loaded from {self.path}: {error}") from error
        try:
            entry = library.firesteel_module_v1
        except AttributeError as error:
            raise self.error("it does not export firesteel_module_v1") from error
        entry.argtypes, entry.restype = [_POINTER, _POINTER, _POINTER], _U32
        module = _Module(_ctypes.sizeof(_Module))
        places = [_ctypes.addressof(struct) for struct in (self.host, module, self.failure)]
        status = entry(*places)
        if status:
            text = _ctypes.string_at(self.message, min(self.failure.message_len, 8192)).decode("utf-8", "replace")
            raise RuntimeError(f"{_LIBRARY} from {self.path} does not start: {text or f'status {status}'}")
        module = _cut(_Module, places[1])
        if module.abi_major != 1:
            raise self.error(f"major version {module.abi_major} of its interface is not 1")
        if (str(module.name), str(module.version)) != (MODULE["name"], MODULE["version"]):
            raise self.error(f"it is {module.name} {module.version}")
        addresses = [module.functions[i] for i in range(module.function_count)]
        functions = [(address, _cut(_Function, address)) for address in addresses]
        for function in MODULE["functions"]:
            self.compare(function, functions)
        return functions

    def compare(self, wanted, functions):
        name = wanted["name"]
        if wanted["index"] >= len(functions) or str(functions[wanted["index"]][1].name) != name:
            raise self.error(f"its function {wanted['index']} is not '{name}'")
        found = functions[wanted["index"]][1]
        numbers = _KINDS[wanted["kind"]], _VOLATILITIES[wanted["volatility"]], _NULLS[wanted["nulls"]]
        if (found.kind, found.volatility, found.nulls) != numbers:
            raise self.error(f"function '{name}' is of another kind, volatility or treatment of nulls")
        signatures = [found.signatures[i] for i in range(found.signature_count)]
        signatures = [(str(s.arguments).split(), str(s.result).split()) for s in signatures]
        if signatures != [(s["arguments"].split(), s["result"].split()) for s in wanted["signatures"]]:
            raise self.error(f"function '{name}' has other types")
        needed = {1: ["execute"], 2: ["update", "finish"]}.get(found.kind, ["open"])
        missing = [call for call in needed if not getattr(found, call)]
        if missing:
            raise self.error(f"function '{name}' has no {missing[0]}")


def _cut(kind, address):
    """A copy of a struct that may be shorter than is known here: what is missing is zero."""
    copy = kind()
    size = min(_SIZE.from_address(address).value, _ctypes.sizeof(kind))
    _ctypes.memmove(_ctypes.addressof(copy), address, size)
    return copy


def _log(task, level, message):
    text = _ctypes.string_at(message.data, message.len).decode("utf-8", "replace") if message.len else ""
    print(f"{MODULE['library']}: {_LEVELS.get(level, level)}: {text}", file=_sys.stderr, flush=True)


_loaded = []
_loading = _threading.Lock()


def _library():
    if not _loaded:
        with _loading:
            if not _loaded:
                _loaded.append(_Library(_local_library(_sent_library())))
    return _loaded[0]


def _sent_library():
    try:
        from pyspark import SparkFiles

        return SparkFiles.get(MODULE["library"])
    except Exception:  # Where there is neither a worker nor a SparkContext, of whatever kind that version raises.
        return None


def _local_library(sent=None):
    beside = _os.path.join(_os.path.dirname(_os.path.abspath(__file__)), MODULE["library"])
    paths = [path for path in (sent, beside, MODULE["path"]) if path]
    for path in paths:
        if _os.path.isfile(path):
            return path
    raise RuntimeError(f"{_LIBRARY} is at none of {', '.join(paths)}")


# --- Types ------------------------------------------------------------------------------------------------------------
#
# A type is a tuple of its word and its parameters: ("double",), ("decimal", 10, 2), ("array", type),
# ("map", type, type), ("struct", (name, type), …).


def _types(text):
    return _parsed(text, _Parser.type)


def _columns(text):
    return ("struct",) + _parsed(text, _Parser.field)


def _type(text):
    types = _types(text)
    if len(types) != 1:
        raise ValueError(f"{_LIBRARY}: '{text}' is not one type")
    return types[0]


def _parsed(text, item):
    if not text.strip():
        return ()
    parser = _Parser(text)
    items = parser.several(item)
    if parser.tokens:
        raise parser.error()
    return items


class _Parser:
    def __init__(self, text):
        self.text = text
        self.tokens = _re.findall(r"[<>(),:]|[^<>(),:\s]+", text)

    def error(self):
        return ValueError(f"{_LIBRARY}: '{self.text}' is wrong before '{' '.join(self.tokens)}'")

    def take(self, pattern):
        if not self.tokens or not _re.fullmatch(pattern, self.tokens[0]):
            raise self.error()
        return self.tokens.pop(0)

    def several(self, item):
        items = [item(self)]
        while self.tokens and self.tokens[0] == ",":
            self.tokens.pop(0)
            items.append(item(self))
        return tuple(items)

    def field(self):
        name = self.take(r"[^<>(),:]+")
        self.take(":")
        return name, self.type()

    def type(self):
        word = self.take("|".join([*_SIMPLE, "decimal", "array", "map", "struct"]))
        if word in _SIMPLE:
            return (word,)
        self.take(r"\(" if word == "decimal" else "<")
        if word == "decimal":
            precision, _, scale = int(self.take("[0-9]{1,2}")), self.take(","), int(self.take("[0-9]{1,2}"))
            if not 1 <= precision <= 38 or scale > precision:
                raise self.error()
            made = (word, precision, scale)
        elif word == "map":
            made = (word, self.type(), self.take(",") and self.type())
        else:
            made = (word, self.type()) if word == "array" else (word, *self.several(_Parser.field))
        self.take(r"\)" if word == "decimal" else ">")
        return made


# Words of types without parameters: names of pyarrow's functions and PySpark's classes.
_SIMPLE = {
    "boolean": ("bool_", "BooleanType"),
    "tinyint": ("int8", "ByteType"),
    "smallint": ("int16", "ShortType"),
    "int": ("int32", "IntegerType"),
    "bigint": ("int64", "LongType"),
    "float": ("float32", "FloatType"),
    "double": ("float64", "DoubleType"),
    "string": ("string", "StringType"),
    "binary": ("binary", "BinaryType"),
    "date": ("date32", "DateType"),
    "timestamp": (None, "TimestampType"),
    "timestamp_ntz": (None, "TimestampNTZType"),
}


def _word(t):
    if t[0] == "decimal":
        return f"decimal({t[1]},{t[2]})"
    if t[0] == "struct":
        return f"struct<{','.join(f'{name}:{_word(field)}' for name, field in t[1:])}>"
    return t[0] + (f"<{','.join(_word(part) for part in t[1:])}>" if t[1:] else "")


def _arrow_type(t, zone):
    """The Arrow type; without a zone, one of the same layout that Python reads and writes without loss."""
    import pyarrow as pa

    word = t[0]
    if word in ("timestamp", "timestamp_ntz"):
        return pa.timestamp("us", zone if word == "timestamp" else None) if zone else pa.int64()
    if word == "decimal":
        return pa.decimal128(t[1], t[2])
    if word == "array":
        return pa.list_(pa.field("element", _arrow_type(t[1], zone)))
    if word == "map":
        return pa.map_(_arrow_type(t[1], zone), _arrow_type(t[2], zone))
    if word == "struct":
        # Two fields may have the same name, but not two values of a Python dict.
        names = [name if zone else str(place) for place, (name, _) in enumerate(t[1:])]
        return pa.struct([pa.field(name, _arrow_type(part, zone)) for name, (_, part) in zip(names, t[1:])])
    return getattr(pa, _SIMPLE[word][0])()


def _spark_type(t):
    from pyspark.sql import types

    word = t[0]
    if word == "decimal":
        return types.DecimalType(t[1], t[2])
    if word == "array":
        return types.ArrayType(_spark_type(t[1]))
    if word == "map":
        return types.MapType(_spark_type(t[1]), _spark_type(t[2]))
    if word == "struct":
        return types.StructType([types.StructField(name, _spark_type(part)) for name, part in t[1:]])
    return getattr(types, _SIMPLE[word][1])()


def _same_type(arrow, t):
    """Whether an Arrow type is this type, whatever is nullable and whatever its parts are called outside of structs."""
    import pyarrow.types as is_

    word = t[0]
    if word in ("timestamp", "timestamp_ntz"):
        return is_.is_timestamp(arrow) and arrow.unit == "us" and bool(arrow.tz) == (word == "timestamp")
    if word == "array":
        return is_.is_list(arrow) and _same_type(arrow.value_type, t[1])
    if word == "map":
        return is_.is_map(arrow) and _same_type(arrow.key_type, t[1]) and _same_type(arrow.item_type, t[2])
    if word == "struct":
        fields = [arrow[i] for i in range(arrow.num_fields)] if is_.is_struct(arrow) else []
        same = [field.name == name and _same_type(field.type, part) for field, (name, part) in zip(fields, t[1:])]
        return is_.is_struct(arrow) and len(fields) == len(t) - 1 and all(same)
    if word in ("string", "binary"):
        # With spark.sql.execution.arrow.useLargeVarTypes.
        return str(arrow) in (word, f"large_{word}")
    return arrow.equals(_arrow_type(t, None))


def _zone_of(arrow_types):
    """The time zone of the first timestamp that has one."""
    import pyarrow.types as is_

    for arrow in arrow_types:
        zone = arrow.tz if is_.is_timestamp(arrow) else None
        if is_.is_map(arrow):
            zone = _zone_of([arrow.key_type, arrow.item_type])
        elif is_.is_list(arrow):
            zone = _zone_of([arrow.value_type])
        elif is_.is_struct(arrow):
            zone = _zone_of(arrow[i].type for i in range(arrow.num_fields))
        if zone:
            return zone
    return None


_INTEGERS = ["tinyint", "smallint", "int", "bigint"]


def _widened(column, t, wanted):
    """A column as the type that a signature wants; None if there is no way that loses nothing."""
    import pyarrow as pa
    import pyarrow.types as is_

    given = column.type
    if _same_type(given, t):
        return column.cast(wanted) if "large_" in str(given) else column
    if is_.is_null(given):
        return pa.nulls(len(column), wanted)
    narrower = _INTEGERS[: _INTEGERS.index(t[0])] if t[0] in _INTEGERS else []
    if t[0] == "double":
        narrower = [*_INTEGERS, "float"]
    if any(_same_type(given, (word,)) for word in narrower):
        # Beyond 2^53 doubles round, as Spark's casts do.
        return column.cast(wanted, safe=False)
    if t[0] == "double" and is_.is_decimal(given):
        # pyarrow's own cast does not round correctly.
        return pa.array([None if value is None else float(value) for value in column.to_pylist()], wanted)
    return None


# --- Python values ----------------------------------------------------------------------------------------------------

_CLASSES = {
    "boolean": bool,
    "tinyint": int,
    "smallint": int,
    "int": int,
    "bigint": int,
    "float": float,
    "double": float,
    "decimal": _decimal.Decimal,
    "string": str,
    "binary": (bytes, bytearray),
    "date": _datetime.date,
    "timestamp": _datetime.datetime,
    "timestamp_ntz": _datetime.datetime,
    "array": (list, tuple),
    "map": dict,
    "struct": tuple,
}


def _taker(t, widening=False):
    """A function that makes of a value of PySpark's what pyarrow takes for the type of the same layout."""
    word, wanted = t[0], _CLASSES[t[0]]
    others = (int, _decimal.Decimal) if widening and word == "double" else ()

    def plain(value):
        kind = type(value)
        if kind is wanted:
            return value
        if kind in others:
            return float(value)
        # Classes derived from others are numbers and times as well, but a bool is no int and a datetime no date.
        if isinstance(value, wanted) and kind is not bool and (word != "date" or kind is not _datetime.datetime):
            return value
        raise TypeError(f"not {word}")

    parts = [_taker(part[1] if word == "struct" else part) for part in t[1:] if word in ("array", "map", "struct")]
    shape = {"array": _take_array, "map": _take_map, "struct": _take_struct}.get(word)
    if shape:
        return lambda value: shape(plain(value), *parts)
    moment = {"timestamp": _microseconds, "timestamp_ntz": _wall_microseconds, "float": _single_precision}.get(word)
    return plain if moment is None else lambda value: moment(plain(value))


def _take_array(value, part):
    return [item if item is None else part(item) for item in value]


def _take_map(value, key, item):
    return [(key(k), v if v is None else item(v)) for k, v in value.items()]


def _take_struct(value, *parts):
    if len(value) != len(parts):
        raise TypeError(f"of {len(value)} fields")
    return {str(i): v if v is None else part(v) for i, (v, part) in enumerate(zip(value, parts))}


def _single_precision(value):
    if value == value and _ctypes.c_float(value).value != value:
        raise ValueError("a double")
    return value


_EPOCH = _datetime.datetime(1970, 1, 1, tzinfo=_datetime.timezone.utc)
_WALL_EPOCH = _datetime.datetime(1970, 1, 1)
_MICROSECOND = _datetime.timedelta(microseconds=1)
_DAY = 86400


def _wall_microseconds(value):
    if value.tzinfo is not None:
        raise TypeError("with a time zone")
    return (value - _WALL_EPOCH) // _MICROSECOND


def _microseconds(value):
    if value.tzinfo is not None:
        return (value - _EPOCH) // _MICROSECOND
    # PySpark gives times of the process's zone. datetime.timestamp() is a double, and fails next to years 1 and 9999.
    wall, rest = divmod(_wall_microseconds(value), 1000000)
    before, after = (_time.localtime(wall + day).tm_gmtoff for day in (-_DAY, _DAY))
    offset = after if value.fold else before
    if before != after:
        fitting = sorted(wall - o for o in (before, after) if _time.localtime(wall - o).tm_gmtoff == o)
        if fitting:
            return fitting[-1 if value.fold else 0] * 1000000 + rest
    return (wall - offset) * 1000000 + rest


def _giver(t):
    """A function that makes of what pyarrow gives for the type of the same layout what PySpark takes."""
    word = t[0]
    if word == "timestamp":
        return lambda value: value if value is None else _EPOCH + value * _MICROSECOND
    if word == "timestamp_ntz":
        return lambda value: value if value is None else _WALL_EPOCH + value * _MICROSECOND
    if word == "array":
        part = _giver(t[1])
        return lambda value: value if value is None else [part(item) for item in value]
    if word == "map":
        key, item = _giver(t[1]), _giver(t[2])
        return lambda value: value if value is None else {key(k): item(v) for k, v in value}
    if word == "struct":
        parts = [(str(place), _giver(part)) for place, (_, part) in enumerate(t[1:])]
        return lambda value: value if value is None else tuple(part(value[name]) for name, part in parts)
    return lambda value: value


_LIBRARY = f"{MODULE['library']} ({MODULE['name']} {MODULE['version']})"
_FUNCTIONS = {}
for _native in (_NativeFunction(f, n) for f in MODULE["functions"] for n in range(len(f["signatures"]))):
    _FUNCTIONS[_native.__name__] = _native
del _native
