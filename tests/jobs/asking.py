"""Questions to Spark and what comes of them: values such that equal ones are equal to the last bit, or how it fails."""

import math
import re
import time

from pyspark import InheritableThread


def exact(value):
    """A value such that equal ones are equal to the last bit."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value.hex()
    if isinstance(value, (bytes, bytearray)):
        return "x" + bytes(value).hex()
    if isinstance(value, (tuple, list)):
        return [exact(item) for item in value]
    if isinstance(value, dict):
        return [[exact(key), exact(of)] for key, of in value.items()]
    return None if value is None else str(value)


def failure(error):
    """Class and cause of a failure."""
    found = re.search(r"\[([A-Z_.]+)\]", str(error))
    caused = re.findall(r"Caused by: ([\w.]+)", str(error))
    return f"error {found and found[1]} {caused[-1:]}"


def killed(spark, frame):
    """How a query ends whose functions take hours and that is cancelled after some seconds."""
    outcome = []

    def work():
        spark.sparkContext.setJobGroup("slow", "slow", interruptOnCancel=True)
        try:
            frame().collect()
        except Exception as error:
            outcome.append("cancelled" in str(error))

    thread = InheritableThread(target=work)
    thread.start()
    time.sleep(3)
    spark.sparkContext.cancelJobGroup("slow")
    thread.join(60)
    spark.sparkContext.setJobGroup("", "")
    return outcome


class Asked:
    """Answers by what was asked."""

    def __init__(self):
        self.answers = {}

    def ask(self, name, frame):
        try:
            self.answers[name] = [exact(row) for row in frame().collect()]
        except Exception as error:
            self.answers[name] = failure(error)
