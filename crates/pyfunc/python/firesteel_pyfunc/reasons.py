"""Why a function is not simple: the texts of `pyfunc::NotSimple`."""

# With the version behind it, such as 3.15.
VERSION = "an unknown version of Python: "
INTERPRETER = "an interpreter that is not CPython"
CALLABLE = "a callable that is not a Python function"
ARGUMENTS = "default, named, variable or too many arguments"
GENERATOR = "a generator or coroutine"
INNER_FUNCTION = "a function or comprehension within the function"
LOOP = "a loop"
ATTRIBUTE = "an unknown method or attribute"
OBJECT = "an object from outside that is not a number or text"
CONSTANT = "a constant of another kind or size"
OPERATION = "an unknown operation"
UNUSED = "a value that is not used"
SIZE = "too many operations"


class NotSimple(Exception):
    """A function is not compiled, for a reason of this module."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason
