"""Simple functions of Spark SQL, for the executor, which computes them itself.

The executor calls `translate` as it calls the function of an RDD."""

import json
import struct

from firesteel_pyfunc import NotSimple, compile_function
from pyspark.broadcast import Broadcast
from pyspark.serializers import CPickleSerializer

from . import reports
from .callables import is_watched, own_function

INT = struct.Struct("!i")


def translate(_split, requests):
    """An answer for each request."""
    return map(answer, requests)


def answer(request):
    """The expressions of functions of which each takes what the one before it gives, or why there are none."""
    try:
        if is_watched():
            raise NotSimple(reports.WATCHED)
        found = {"expressions": expressions(request)}
    except NotSimple as error:
        found = {"reason": error.reason}
    except Exception:  # Whoever calls the function finds out what is wrong, if anything is.
        found = {"reason": reports.UNEXPECTED}
    return json.dumps(found).encode()


def expressions(request):
    (count,), at, found = INT.unpack_from(request), INT.size, []
    while at < len(request):
        (length,) = INT.unpack_from(request, at)
        at += INT.size + length
        function, _type = unpickled(request[at - length : at])
        found.append(compile_function(own_function(function), count))
        count = 1
    return found


def unpickled(command):
    """What PySpark reads of a command, which is in a broadcast variable if it is large."""
    serializer = CPickleSerializer()
    found = serializer.loads(command)
    return serializer.loads(found.value) if isinstance(found, Broadcast) else found
