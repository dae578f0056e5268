"""Zip archives on the module path are read again when they have changed, not whenever somebody asks.

Up to Spark 4.1, PySpark's worker makes the import system forget what it has seen before every task. Since CPython 3.10 every importer
of a zip archive reads the archive's directory again then, and there is one for every package inside: for the `pyspark.zip` of a
distribution that takes tens of milliseconds, nearly all the time of a small task."""

import os
import time
import zipimport

# An archive that changed less than this before it was read (seconds) may change again without its times telling.
SETTLED = 10.0


def state(archive):
    """What changes when the file does, or None if that cannot be relied on."""
    try:
        found = os.stat(archive)
    except OSError:
        return None
    if time.time() - max(found.st_mtime, found.st_ctime) < SETTLED:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class Known:
    """What the import system has read of archives, with the states that they had before."""

    def __init__(self, read, invalidate, directories):
        self.read, self.invalidate, self.directories = read, invalidate, directories
        self.states = {archive: (state(archive), directory) for archive, directory in directories.items()}

    def read_directory(self, archive):
        """`zipimport._read_directory`."""
        found = state(archive)
        directory = self.read(archive)
        self.states[archive] = found, directory
        return directory

    def invalidate_caches(self, importer):
        """`zipimporter.invalidate_caches`."""
        archive = importer.archive
        found, directory = self.states.get(archive, (None, None))
        if found is None or found != state(archive) or self.directories.get(archive) is not directory:
            self.invalidate(importer)
        elif hasattr(importer, "_files"):  # From CPython 3.13 on, importers ask the import system's cache.
            importer._files = directory


def install():
    owner = zipimport.zipimporter
    needed = [(zipimport, "_read_directory"), (owner, "invalidate_caches"), (zipimport, "_zip_directory_cache")]
    if all(hasattr(where, name) for where, name in needed):
        known = Known(*(getattr(where, name) for where, name in needed))
        zipimport._read_directory = known.read_directory
        owner.invalidate_caches = lambda importer: known.invalidate_caches(importer)
