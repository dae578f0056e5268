"""What Spark's own suites need: jars of tests from Maven Central, the distribution, a class path, and the list of suites
that start executors, which the constant pools of their classes tell. All of it is in the cache, by version."""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import urllib.error
import urllib.request
import xml.etree.ElementTree
import zipfile

from sides import CACHE, REPOSITORY, spark_home

MAVEN = os.environ.get("FIRESTEEL_MAVEN", "https://repo1.maven.org/maven2") + "/org/apache/spark"
SUITES = CACHE / "spark-suites"
# Modules whose classes the suites of spark-core and spark-sql use; those that have no jar of tests in a version are left out.
MODULES = ["core", "sql", "catalyst", "common-utils", "network-common", "network-shuffle", "launcher", "tags"]
# Resources with the same name are those of the module that comes last.
RESOURCES = ["sql", "catalyst", "core"]
# Libraries of tests; Spark's parent POM knows which artifacts and versions.
LIBRARIES = {"org.scalatest", "org.scalatestplus", "org.scalacheck", "org.mockito", "net.bytebuddy", "junit", "org.junit.jupiter"}
# Where the distribution is there already, nobody's build is waited for.
NEEDED = """source scripts/lib.sh
[[ -r $(spark_environment "$1")/.firesteel-packages ]] || hold setup
setup_tools >&2
setup_spark "$1" >&2
printf %s "$FIRESTEEL_JAVA_HOME"
"""
CLUSTER = b"local-cluster"
PROCESSES = [b"org/apache/spark/deploy/worker/Worker", b"org/apache/spark/executor/CoarseGrainedExecutorBackend"]
ROOTS = {"org/scalatest/Suite", "org/scalatest/funsuite/AnyFunSuite"}
ABSTRACT = 0x0600


def install(version):
    """Installs tools and the distribution as the other scripts do, and gives the directory of the JDK."""
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", NEEDED, "bash", version], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return pathlib.Path(done.stdout)


def scala_of(version):
    """That of the distribution on PyPI."""
    return "2.12" if version.startswith("3.") else "2.13"


def exists(artifact, version, ending):
    request = urllib.request.Request(f"{MAVEN}/{artifact}/{version}/{artifact}-{version}{ending}", method="HEAD")
    try:
        return urllib.request.urlopen(request).status == 200
    except urllib.error.HTTPError:
        return False


def pom(version):
    """A project that depends on jars of tests, alone, and on libraries of tests, in the versions that Spark has them in."""
    scala = scala_of(version)
    parent = f"spark-parent_{scala}"
    modules = [name for name in (f"spark-{module}_{scala}" for module in MODULES) if exists(name, version, "-tests.jar")]
    if f"spark-core_{scala}" not in modules:
        sys.exit(f"no jar of tests of Spark {version} in {MAVEN}")
    with urllib.request.urlopen(f"{MAVEN}/{parent}/{version}/{parent}-{version}.pom") as answer:
        managed = xml.etree.ElementTree.fromstring(answer.read()).findall(".//{*}dependencyManagement/{*}dependencies/{*}dependency")
    alone = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    dependency = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId>{}</dependency>"
    lines = [dependency.format("org.apache.spark", name, f"<version>{version}</version><classifier>tests</classifier>{alone}") for name in modules]
    for known in managed:
        group, name = known.findtext("{*}groupId"), known.findtext("{*}artifactId").replace("${scala.binary.version}", scala)
        if group in LIBRARIES and "selenium" not in name:
            lines.append(dependency.format(group, name, ""))
    bom = dependency.format("org.apache.spark", parent, f"<version>{version}</version><type>pom</type><scope>import</scope>")
    return "\n".join([
        '<project xmlns="http://maven.apache.org/POM/4.0.0">', "<modelVersion>4.0.0</modelVersion>",
        f"<groupId>org.firesteel</groupId><artifactId>spark-suites</artifactId><version>{version}</version>",
        f"<dependencyManagement><dependencies>{bom}</dependencies></dependencyManagement>", "<dependencies>", *lines, "</dependencies>",
        "</project>"])


def prepare(version, jdk):
    """The directory of what the suites of a version need, made if need be."""
    directory = SUITES / version
    if not (directory / "suites.json").exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        (directory / "pom.xml").write_text(pom(version))
        print(f"Jars of Spark {version}'s suites in {directory}", file=sys.stderr)
        subprocess.run(["mvn", "--batch-mode", "--quiet", "--file", directory / "pom.xml", "dependency:copy-dependencies",
                        f"-DoutputDirectory={directory}/jars"], check=True, env={**os.environ, "JAVA_HOME": str(jdk)}, stdout=sys.stderr)
        for module in RESOURCES:
            with zipfile.ZipFile(next(directory.glob(f"jars/spark-{module}_*-tests.jar"))) as archive:
                archive.extractall(directory / "src" / "test" / "resources", [name for name in archive.namelist() if not name.endswith(".class")])
        found = find(sorted(directory.glob("jars/spark-*-tests.jar")))
        (directory / "suites.json").write_text(json.dumps(found, indent=1))
    return directory


def agent(version, jdk, directory):
    """The jar that makes time limits longer, as its source is now."""
    source, jar = REPOSITORY / "tests" / "java" / "Patience.java", directory / "patience.jar"
    if not jar.exists() or jar.stat().st_mtime < source.stat().st_mtime:
        classes, manifest = directory / "patience", directory / "patience.txt"
        manifest.write_text("Premain-Class: Patience\nCan-Retransform-Classes: true\n")
        subprocess.run([jdk / "bin" / "javac", "-nowarn", "-proc:none", "-d", classes, "-cp", class_path(version, directory), source], check=True)
        subprocess.run([jdk / "bin" / "jar", "cfm", jar, manifest, "-C", classes, "."], check=True)
    return jar


def class_path(version, directory):
    """Resources as files, because suites open them by path; jars of tests; the distribution; libraries that it has not in any version."""
    artifact = lambda jar: re.sub(r"-\d[^/]*?(-tests)?\.jar$", r"\1", jar.name)
    distribution = sorted((spark_home(version)[0] / "jars").glob("*.jar"))
    shipped = {artifact(jar) for jar in distribution}
    jars = sorted(directory.glob("jars/*.jar"))
    tests = sorted((jar for jar in jars if jar.name.endswith("-tests.jar")), key=lambda jar: ("spark-core" not in jar.name, jar.name))
    libraries = [jar for jar in jars if jar not in tests and artifact(jar) not in shipped]
    return ":".join(map(str, [directory / "src" / "test" / "resources", *tests, *distribution, *libraries]))


def parse_class(data):
    """Whether a class is abstract, its name, what it extends, and the texts of its constant pool."""
    count, = struct.unpack_from(">H", data, 8)
    pool, index, at = [None] * count, 1, 10
    while index < count:
        tag = data[at]
        if tag == 1:
            length, = struct.unpack_from(">H", data, at + 1)
            pool[index] = data[at + 3:at + 3 + length]
            at += 3 + length
        elif tag in (7, 8, 16, 19, 20):
            pool[index], = struct.unpack_from(">H", data, at + 1)
            at += 3
        elif tag == 15:
            at += 4
        elif tag in (5, 6):
            # Two entries of the pool.
            at += 9
            index += 1
        else:
            at += 5
        index += 1
    flags, this, parent, interfaces = struct.unpack_from(">HHHH", data, at)
    extends = [parent, *struct.unpack_from(f">{interfaces}H", data, at + 8)]
    name = lambda entry: pool[pool[entry]].decode()
    return bool(flags & ABSTRACT), name(this), [name(entry) for entry in extends if entry], [text for text in pool if isinstance(text, bytes)]


def find(jars):
    """Suites by name that start executors, with what says so in their classes, in classes within them, or in what they extend."""
    parents, concrete, reasons = {}, [], {}
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if not entry.endswith(".class"):
                    continue
                abstract, this, parents_of_this, texts = parse_class(archive.read(entry))
                parents[this] = parents_of_this
                if "$" not in this and not abstract:
                    concrete.append(this)
                said = {text.decode(errors="replace") for text in texts if CLUSTER in text}
                said |= {text.decode().rpartition("/")[2] for text in texts if text in PROCESSES}
                reasons.setdefault(this.split("$")[0], set()).update(said)

    def ancestors(this):
        yield this
        for parent in parents.get(this, []):
            yield from ancestors(parent)

    found = {}
    for this in sorted(concrete):
        lineage = set(ancestors(this))
        if lineage & ROOTS and (said := set().union(*(reasons.get(name, set()) for name in lineage))):
            found[this.replace("/", ".")] = sorted(said)
    return found
