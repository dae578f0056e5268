"""Simple Python functions as expression trees.

`compile_function` reads a function's bytecode and gives its tree as text, for `pyfunc::Expression::decode`, or raises
`NotSimple` with a reason. Nothing of the function is called."""

from .compiler import tree
from .encode import encode
from .reasons import NotSimple

__all__ = ["NotSimple", "compile_function"]


def compile_function(function, count):
    """The encoded expression of what `function` returns for `count` positional arguments."""
    return encode(tree(function, count))
