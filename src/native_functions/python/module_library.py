

# The library: its interface (include/firesteel.h) as ctypes has it, and calls of it.

import ctypes as _ctypes
import os as _os
import sys as _sys
import threading as _threading
import weakref as _weakref

_KINDS = {"scalar": 1, "aggregate": 2, "partition": 3, "table": 4}
_VOLATILITIES = {"immutable": 1, "stable": 2, "volatile": 3}
_NULLS = {"given": 1, "skipped": 2}
_STATUSES = {1: "the arguments are not taken", 2: "", 3: "out of memory", 4: "cancelled", 5: "internal error"}
_LEVELS = {1: "ERROR", 2: "WARN", 3: "INFO", 4: "DEBUG"}


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
        self.failure = _failure(self.message)
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
            reason = _said(self.failure) or f"status {status}"
            raise RuntimeError(f"{_LIBRARY} from {self.path} does not start: {reason}")
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
        signatures = ["".join(f"{s.arguments};{s.result}".split()) for s in signatures]
        if signatures != ["".join(f"{s['arguments']};{s['result']}".split()) for s in wanted["signatures"]]:
            raise self.error(f"function '{name}' has other types")
        needed = {1: ["execute"], 2: ["update", "finish"]}.get(found.kind, ["open"])
        missing = [call for call in needed if not getattr(found, call)]
        if missing:
            raise self.error(f"function '{name}' has no {missing[0]}")


def _failure(message):
    return _Failure(_ctypes.sizeof(_Failure), -1, b"", _ctypes.addressof(message), len(message), 0)


def _said(failure):
    length = min(failure.message_len, failure.message_capacity)
    return _ctypes.string_at(failure.message, length).decode("utf-8", "replace")


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


class _Instance:
    """A function that is bound for a task."""

    def __init__(self, native, key, context, arguments=None):
        import pyarrow as pa

        self.native, self.key = native, key
        self.address, self.function = _library().functions[native.function["index"]]
        zone = key[1] or _session_zone(context)
        self.task, self.kept = _task(context, zone)
        self.message = _ctypes.create_string_buffer(8192)
        self.failure = _failure(self.message)
        self.types = [] if native.kind == "partition" else [_arrow_type(a, zone) for a in native.arguments]
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
        message = _said(self.failure)
        words = _STATUSES.get(status, f"unknown status {status}")
        sqlstate, row = self.failure.sqlstate.decode("ascii", "replace"), self.failure.row
        self.failure.row, self.failure.sqlstate, self.failure.message_len = -1, b"", 0
        # Whatever a function that failed left there is no result.
        _ctypes.memset(self.pointers[2], 0, _ctypes.sizeof(_Array))
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
