"""Native code in the place of loops of PySpark's own.

A function of the distribution is taken from its source, the loop in it gets a native companion that does the usual work
of the same statements, and everything unusual goes on to the loop itself. The result is compiled with the source's own
file and lines, so that a traceback reads as if the loop had run. A function whose loop is not the one known here stays
as it is."""

import ast
import copy
import functools
import importlib.machinery
import sys

from . import _native

MERGE_VALUES = """
for k, v in iterator:
    d = pdata[hfun(k)] if pdata else data
    d[k] = comb(d[k], v) if k in d else creator(v)

    c += 1
    if c >= batch:
        if get_used_memory() >= limit:
            self._spill()
            limit = self._next_limit()
            batch /= 2
            c = 0
        else:
            batch *= 1.5
"""

MERGE_COMBINERS = """
for k, v in iterator:
    d = pdata[hfun(k)] if pdata else data
    d[k] = comb(d[k], v) if k in d else v
    if not limit:
        continue

    c += objsize(v)
    if c > batch:
        if get_used_memory() > limit:
            self._spill()
            limit = self._next_limit()
            batch /= 2
            c = 0
        else:
            batch *= 1.5
"""

# Without any loop of the interpreter, where all functions are simple.
AHEAD = """
if not data and not pdata:
    iterator = fs_ahead(iterator, creator, comb, data, limit, get_used_memory)
"""

# The loop stays behind this, for what is left after a spill. PLACES are statements that raise an error where the loop
# would have, LEFT those that merge an element that is left to the interpreter.
MERGING = """
AHEAD
iterator = iter(iterator)
fs_place, fs_state = [-1], fs_native.PAUSED
while fs_state != fs_native.EXHAUSTED and not pdata:
    try:
        fs_state, c, fs_item = fs_native.merge(data, iterator, {create}, comb, c, batch, {size}, fs_place)
    except BaseException as fs_error:
        fs_error.__traceback__ = fs_error.__traceback__.tb_next
        PLACES
    if fs_state == fs_native.LEFT_TO_PYTHON:
        LEFT
    else:
        PAUSE
if fs_state != fs_native.EXHAUSTED:
    LOOP
"""


def statements(text):
    return ast.parse(text).body


def at(node, place):
    """`node` and all in it, where `place` is."""
    for inner in ast.walk(node):
        for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            if hasattr(place, name):
                setattr(inner, name, getattr(place, name))
    return node


def same(loop, text):
    """Whether a loop's code is `text`, but for comments."""
    return ast.dump(loop) == ast.dump(statements(text)[0])


def replace(body, name, found):
    """Puts statements where a statement is that is only the name."""
    for statement in body:
        for field in ("body", "orelse", "handlers"):
            replace(getattr(statement, field, []), name, found)
    for index, statement in enumerate(body):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Name) and statement.value.id == name:
            body[index : index + 1] = found


def merging(function, create, size, ahead):
    """The function with a native companion of its loop, and statements ahead of it."""
    loop = next(statement for statement in function.body if isinstance(statement, ast.For))
    store = loop.body[1]
    value = store.value
    # Where an interpreter says that it is when it asks an iterator.
    asking = loop.iter if sys.version_info >= (3, 13) else loop
    errors = {0: asking, 1: value.body, 2: value.orelse, 3: store.targets[0], 4: loop.body[-2].value}
    raising = "if fs_place[0] == {}:\n    raise fs_error.with_traceback(fs_error.__traceback__)"
    places = [at(statements(raising.format(number))[0], node) for number, node in errors.items()]
    places.append(at(statements("raise fs_error")[0], loop))
    unpack = ast.Assign(targets=[copy.deepcopy(loop.target)], value=ast.Name("fs_item", ast.Load()))
    left = [at(unpack, loop.target)] + copy.deepcopy(loop.body)
    companion = [at(statement, asking) for statement in statements(MERGING.format(create=create, size=size))]
    ahead = [at(statement, asking) for statement in statements(ahead)]
    pause = [copy.deepcopy(loop.body[-1])]
    for name, found in {"AHEAD": ahead, "PLACES": places, "LEFT": left, "PAUSE": pause, "LOOP": [loop]}.items():
        replace(companion, name, found)
    index = function.body.index(loop)
    function.body[index : index + 1] = companion


def recompiled(function, tree, module, names):
    """The function that `tree` defines, in the place of `function`. `names` are what it sees beside the module."""
    tree.decorator_list, tree.returns = [], None
    for argument in tree.args.args:
        argument.annotation = None
    outer = ast.parse("def outer({}):\n    return {}".format(", ".join(names), tree.name))
    outer.body[0].body.insert(0, tree)
    scope = {}
    exec(compile(ast.fix_missing_locations(outer), function.__code__.co_filename, "exec"), vars(module), scope)
    made = scope["outer"](**names)
    for name in ("__qualname__", "__doc__", "__annotations__", "__defaults__"):
        setattr(made, name, getattr(function, name))
    return made


def methods(module, name):
    """The definitions in a class of a module, by name."""
    source = module.__spec__.loader.get_source(module.__name__)
    for statement in statements(source):
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            return {inner.name: inner for inner in statement.body if isinstance(inner, ast.FunctionDef)}
    return {}


def loop_of(function):
    return [statement for statement in function.body if isinstance(statement, ast.For)]


def shuffle(module, compiles=True):
    """`pyspark.shuffle`: merging of values by key. `compiles`: whether pipelines of simple functions are compiled."""
    ahead, names = "", {"fs_native": _native}
    if compiles:
        # It needs modules of PySpark.
        from . import pipelines

        ahead, names["fs_ahead"] = AHEAD, pipelines.merge_ahead
    merger = module.ExternalMerger
    found = methods(module, "ExternalMerger")
    # Sizes are counted only where a subclass has said how.
    size = "(None if objsize.__func__ is fs_size else objsize) if limit else False"
    names["fs_size"] = merger._object_size
    for name, known, create, size, ahead in [
        ("mergeValues", MERGE_VALUES, "creator", "None", ahead),
        ("mergeCombiners", MERGE_COMBINERS, "None", size, ""),
    ]:
        tree = found.get(name)
        if tree is None or [same(loop, known) for loop in loop_of(tree)] != [True]:
            continue
        merging(tree, create, size, ahead)
        setattr(merger, name, recompiled(vars(merger)[name], tree, module, names))


class Finder:
    """Finds the modules that get native loops as they are found otherwise, and changes them when they have been
    loaded."""

    def __init__(self, compiles):
        self.changes = {"pyspark.shuffle": functools.partial(shuffle, compiles=compiles)}

    def find_spec(self, name, path=None, target=None):
        change = self.changes.get(name)
        if change is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return None
        spec.loader = Loader(spec.loader, change)
        return spec


class Loader:
    """A module's own loader, with something to do afterwards."""

    def __init__(self, loader, change):
        self.loader, self.change = loader, change

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        try:
            self.change(module)
        except Exception as error:  # The loops stay PySpark's own: slower, and as right.
            sys.stderr.write("Firesteel: %s keeps its own loops: %r\n" % (module.__name__, error))


def install(compiles):
    sys.meta_path.insert(0, Finder(compiles))
