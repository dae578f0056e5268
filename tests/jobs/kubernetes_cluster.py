"""An application whose driver is a pod of Kubernetes, too.

usage: kubernetes_cluster.py RESULT SCRATCH. Needs `--py-files support.py,containers.py`. Ends with exit code 3 when all is done."""

import json
import os
import re
import sys
import urllib.request

from pyspark.sql import SparkSession

from containers import ask_sales, of_columns, sales, words
from support import Themes, wait_for

# What differs between two applications.
OF_APPLICATIONS = [
    (re.compile(r"kubernetes-[a-z]*-?[0-9a-f]{16}"), "application"),
    (re.compile(r"spark-[0-9a-f]{32}"), "id"),
    (re.compile(r"spark-(drv|exec)-[0-9a-f]{16}"), r"\1-map"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "uuid"),
    (re.compile(r"127\.0\.1\.\d+"), "address"),
]


def masked(value):
    text = json.dumps(value, sort_keys=True)
    for pattern, replacement in OF_APPLICATIONS:
        text = pattern.sub(replacement, text)
    return json.loads(text)


def read(path):
    with open(path) as source:
        return source.read()


def surroundings(run):
    """What workers see of their pod: the files of the config map and of a secret, and who they are."""
    def look(_):
        variables = os.environ
        return {
            # Workers of the native lane do not have the secret; a shell that is the entry point counts itself.
            "variables": sorted(name for name in variables if not name.startswith("FIRESTEEL") and name not in ["_SPARK_AUTH_SECRET", "SHLVL"]),
            "pod": variables["HOSTNAME"] == variables["SPARK_EXECUTOR_POD_NAME"],
            "of driver": variables["SPARK_DRIVER_POD_IP"],
            "conf": sorted(os.listdir(variables["SPARK_CONF_DIR"])),
            "mine": read(f"{variables['SPARK_CONF_DIR']}/mine.txt"),
            "secret": read("/etc/of-application/secret"),
            "directory": os.getcwd(),
            "user": [os.getuid(), os.getgid()],
        }

    return masked(run.sc.parallelize([0], 1).map(look).collect())


def of_driver(run):
    """The driver is a JVM of the JDK in the image."""
    of_java = run.sc._jvm.java.lang.System.getProperty
    settings = ["spark.master", "spark.submit.deployMode", "spark.driver.host", "spark.driver.bindAddress", "spark.kubernetes.driver.pod.name"]
    return masked({
        "vm": of_java("java.vm.name"),
        "home": of_java("java.home"),
        "settings": {name: re.sub(r":\d+$", ":port", run.sc.getConf().get(name)) for name in settings},
        "conf": sorted(os.listdir("/opt/spark/conf")),
    })


def pods(run):
    """Executors' pods as the API has them: who owns them, and what the template and the profile made of them."""
    api = run.sc.master.removeprefix("k8s://")
    with urllib.request.urlopen(f"{api}/api/v1/namespaces/default/pods") as reply:
        found = {pod["metadata"]["name"]: pod for pod in json.load(reply)["items"]}
    driver = found[run.sc.getConf().get("spark.kubernetes.driver.pod.name")]
    owned = {name: pod for name, pod in found.items() if pod is not driver}
    described = [{
        "name": name,
        "owners": [[owner["kind"], owner["name"], owner["uid"] == driver["metadata"]["uid"]] for owner in pod["metadata"]["ownerReferences"]],
        "labels": pod["metadata"]["labels"],
        "arguments": pod["spec"]["containers"][0]["args"],
        "mounts": sorted(mount["mountPath"] for mount in pod["spec"]["containers"][0]["volumeMounts"]),
        "resources": pod["spec"]["containers"][0]["resources"],
    } for name, pod in sorted(owned.items())]
    container = driver["spec"]["containers"][0]
    return masked({"driver": {"account": driver["spec"].get("serviceAccountName"), "arguments": container["args"]}, "executors": described})


def query(run):
    os.makedirs(f"{run.scratch}/sales", exist_ok=True)
    for part in range(3):
        with open(f"{run.scratch}/sales/part-{part}.parquet", "wb") as out:
            out.write(sales(part))
    return ask_sales(run, f"{run.scratch}/sales")


def main(result, scratch):
    spark = SparkSession.builder.getOrCreate()
    run = Themes(spark)
    run.scratch = scratch
    run.other_compressor = True
    wait_for("two executors", lambda: len(run.rest.executors()) == 2, 200)
    for body in [words, surroundings, query]:
        run.run(body.__name__, body, "unordered")
    run.result["metrics"]["query"] = of_columns(run.result["metrics"]["query"])
    for body in [of_driver, pods]:
        run.run(body.__name__, body, "none")
    run.count_tasks()
    run.result["version"] = spark.version
    run.write(result)
    spark.stop()
    sys.exit(3)


if __name__ == "__main__":
    main(*sys.argv[1:])
