"""Runs PySpark's own test modules, as the distribution ships them (`pyspark.zip`), on a local cluster, and writes what
became of every test case.

usage: pyspark_modules.py RESULT MODULE[:CLASS[.TEST]]...      (modules of `pyspark.tests`; those of `pyspark.sql.tests` as `sql.MODULE`)"""

import faulthandler
import importlib
import os
import re
import signal
import sys
import time
import traceback
import types
import unittest
import warnings
import zipfile

import clustered

# Some cases of these expect the outputs of several maps in the order of the maps, which only an executor's own blocks come in. Those of
# the last module add files and remove them, whichever executors have fetched them by then.
ONE_EXECUTOR = ["test_rdd.RDDTests", "sql.arrow.test_arrow_udf_window.WindowArrowUDFTests", "sql.pandas.test_pandas_udf_window.WindowPandasUDFTests", "sql.test_udf", "sql.test_udtf"]

# One test case that takes longer is a hang.
SECONDS = 600


class Overdue(BaseException):
    """Not an `Exception`: tests that expect one must not take this for it."""


def overdue(_signal, _frame):
    raise Overdue(f"not done after {SECONDS} s")


class Result(unittest.TestResult):
    def __init__(self, cases, errors, done):
        super().__init__()
        # What did not end is no answer, whoever's executors they are.
        self.cases, self.overdue, self.done = cases, errors, done

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()
        signal.alarm(SECONDS)
        print(f"{time.strftime('%H:%M:%S')} {name(test)}", file=sys.stderr, flush=True)

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)
        self.cases.setdefault(name(test), {"outcome": "passed"})
        self.cases[name(test)]["seconds"] = round(time.monotonic() - self.started, 2)
        self.done()

    def note(self, test, outcome, detail):
        # The first word counts: a tear-down may fail after its test has.
        self.cases.setdefault(name(test), {"outcome": outcome, "detail": detail[-3000:]})
        if re.search(r"^(Overdue|TimeoutError): (not done|no \d+ executors) after", detail, re.MULTILINE):
            self.overdue[name(test)] = detail[-3000:]

    def addError(self, test, error):
        self.note(test, "error", "".join(traceback.format_exception(*error)))

    def addFailure(self, test, error):
        self.note(test, "failed", "".join(traceback.format_exception(*error)))

    def addSkip(self, test, reason):
        self.note(test, "skipped", reason)

    def addExpectedFailure(self, test, error):
        self.note(test, "passed", "expected failure")

    def addUnexpectedSuccess(self, test):
        self.note(test, "failed", "unexpected success")

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.note(test, "failed", "".join(traceback.format_exception(*error)))


def name(test):
    """`Class.test`, also for what unittest puts in a test's place when `setUpClass` fails."""
    return re.sub(r"^([a-z_0-9]+\.)+", "", test.id().split(".tests.", 1)[-1])


def imported(module_name):
    package, _, rest = module_name.partition("sql.")
    return importlib.import_module(f"pyspark.sql.tests.{rest}" if rest and not package else f"pyspark.tests.{module_name}")


def support_files(home):
    """The few files that the tests expect in a source tree and the distribution does not have."""
    base = os.path.join(home, "python", "test_support")
    files = {
        "hello/hello.txt": "Hello World!\n",
        "hello/sub_hello/sub_hello.txt": "Sub Hello World!\n",
        "SimpleHTTPServer.py": '__name__ = "My Server"\n',
        "sql/people.json": '{"name":"Michael"}\n{"name":"Andy", "age":30}\n{"name":"Justin", "age":19}\n',
        "sql/people1.json": '{"name":"Jonathan", "aka": "John"}\n',
        "userlibrary.py": 'class UserClass:\n    def hello(self):\n        return "Hello World!"\n',
    }
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(base, path)), exist_ok=True)
        with open(os.path.join(base, path), "w") as out:
            out.write(text)
    with zipfile.ZipFile(os.path.join(base, "userlib-0.1.zip"), "w") as out:
        out.writestr("userlib/__init__.py",
                     'class UserClass:\n    def hello(self):\n        return "Hello World from inside a package!"\n')


def no_pandas_on_spark():
    """Later releases import pandas-on-Spark to compare data frames, to see whether it made them: it did not."""
    try:
        importlib.import_module("pyspark.pandas")
        return
    except ImportError:
        for loaded in [name for name in sys.modules if name.startswith("pyspark.pandas")]:
            del sys.modules[loaded]
    absent, utilities = types.ModuleType("pyspark.pandas"), types.ModuleType("pyspark.testing.pandasutils")
    absent.DataFrame = absent.Series = absent.Index = type("Absent", (), {})
    utilities.PandasOnSparkTestUtils = type("Absent", (), {})
    sys.modules.update({absent.__name__: absent, utilities.__name__: utilities})


def import_testing():
    """Imports what the tests share. Spark 3.5's takes pandas-on-Spark along, which later releases of pandas do not suit; no test here
    needs it. Gives whether the tests' own classes must be sent to workers by value, for a worker cannot import them then."""
    try:
        importlib.import_module("pyspark.testing")
        no_pandas_on_spark()
        return False
    except ImportError:
        for loaded in [name for name in sys.modules if name.startswith(("pyspark.pandas", "pyspark.testing"))]:
            del sys.modules[loaded]
    absent = types.ModuleType("pyspark.testing.pandasutils")
    absent.assertPandasOnSparkEqual = None
    sys.modules[absent.__name__] = absent
    importlib.import_module("pyspark.testing")
    return True


def stop_context():
    """Tests that failed half-way must not take the next ones with them."""
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()


def run_class(suite, module_name, result):
    # unittest itself runs `setUpClass` and `tearDownClass`, which may hang too.
    signal.alarm(2 * SECONDS)
    try:
        suite.run(result)
    except Overdue as error:
        result.overdue[module_name] = f"{error}: {traceback.format_exc()[-3000:]}"
    finally:
        signal.alarm(0)
        try:
            stop_context()
        except Exception:
            traceback.print_exc()


def main(path, *wanted):
    warnings.simplefilter("ignore")
    faulthandler.enable()
    signal.signal(signal.SIGALRM, overdue)
    for home in os.environ["SPARK_HOME"], os.getcwd():
        support_files(home)
    import pyspark
    from pyspark import cloudpickle

    by_value = import_testing()
    from pyspark.testing.utils import ReusedPySparkTestCase

    result = {"version": pyspark.__version__, "modules": {}, "errors": {}}
    for request in wanted:
        module_name, _, only = request.partition(":")
        started = time.monotonic()
        entry = result["modules"].setdefault(module_name, {"cases": {}})
        try:
            module = imported(module_name)
        except Exception:
            entry["cases"]["(import)"] = {"outcome": "error", "detail": traceback.format_exc()[-3000:]}
            continue
        if by_value:
            cloudpickle.register_pickle_by_value(module)
        outcomes = Result(entry["cases"], result["errors"], lambda: clustered.write(path, result))
        classes = {cls.__name__: cls for cls in vars(module).values()
                   if isinstance(cls, type) and issubclass(cls, unittest.TestCase) and cls.__module__ == module.__name__}
        for class_name, cls in classes.items():
            suite = unittest.defaultTestLoader.loadTestsFromTestCase(cls)
            if only:
                chosen = [test for test in suite if f"{class_name}.{test._testMethodName}".startswith(only)]
                suite = unittest.TestSuite(chosen)
            if suite.countTestCases():
                clustered.label = f"{module_name}.{class_name}"
                # Where every test has a context of its own, half of the time would go into second executors.
                shared = issubclass(cls, ReusedPySparkTestCase) and not {clustered.label, module_name} & set(ONE_EXECUTOR)
                clustered.cluster = clustered.TWO if shared else clustered.ONE
                # A suite of suites is what makes unittest set up and tear down the class.
                run_class(unittest.TestSuite([suite]), clustered.label, outcomes)
        entry["seconds"] = round(time.monotonic() - started, 1)
        clustered.write(path, result)
    clustered.write(path, result)


main(*sys.argv[1:])
