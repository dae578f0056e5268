"""What is around users' functions, and who watches them."""

import inspect
import sys

from pyspark import util


def own_function(function):
    """The user's function in a wrapper of PySpark's."""
    # Equal and not the same, if the driver has put it around the function.
    wrapper = next((code for code in util.fail_on_stopiteration.__code__.co_consts if inspect.iscode(code)), None)
    while wrapper is not None and getattr(function, "__code__", None) == wrapper and wrapper.co_freevars == ("f",):
        function = function.__closure__[0].cell_contents
    return function


def is_watched():
    """Whether somebody wants to see every call."""
    monitoring = getattr(sys, "monitoring", None)
    tools = monitoring and any(monitoring.get_tool(number) for number in range(6))
    return bool(sys.gettrace() or sys.getprofile() or tools)
