"""A kubelet for tests: runs the executor container of each pod of an API server as a process, reports its status, and ends it when the pod
is deleted. A container starts as the entry point of Spark's image starts it, with a temporary directory and an address of its own.

usage: kubelet.py API DIRECTORY NAME=VALUE…

The values are the image's environment: JAVA_HOME and SPARK_HOME at least. Ends with its standard input."""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

PODS = "/api/v1/namespaces/default/pods"
BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Api:
    def __init__(self, url):
        self.url = url

    def call(self, method, path, body=None, content_type="application/json"):
        request = urllib.request.Request(self.url + path, method=method, data=json.dumps(body).encode() if body is not None else None)
        request.add_header("Content-Type", content_type)
        with urllib.request.urlopen(request, timeout=20) as reply:
            return json.load(reply)

    def set_status(self, pod, status):
        try:
            self.call("PATCH", f"{PODS}/{pod}/status", {"status": status}, "application/merge-patch+json")
        except urllib.error.HTTPError as error:
            # The mock deletes pods at once.
            if error.code != 404:
                raise


class Container(threading.Thread):
    """The first container of a pod."""

    def __init__(self, api, pod, number, directory, image):
        super().__init__(daemon=True)
        self.api, self.name, self.image = api, pod["metadata"]["name"], image
        self.spec = pod["spec"]["containers"][0]
        self.grace = int(pod["spec"].get("terminationGracePeriodSeconds") or 30)
        self.address = f"127.0.1.{number}"
        self.directory = os.path.join(directory, self.name)
        self.process, self.deleted = None, False
        self.start()

    def variable(self, entry):
        if "valueFrom" not in entry:
            return entry.get("value", "")
        source = entry["valueFrom"]
        if "secretKeyRef" in source:
            secret = self.api.call("GET", f"/api/v1/namespaces/default/secrets/{source['secretKeyRef']['name']}")
            return base64.b64decode(secret["data"][source["secretKeyRef"]["key"]]).decode()
        return {"status.podIP": self.address, "metadata.name": self.name}[source["fieldRef"]["fieldPath"]]

    def environment(self):
        found = {"PATH": os.environ["PATH"], "HOME": self.directory, "HOSTNAME": self.name, **self.image}
        found |= {entry["name"]: self.variable(entry) for entry in self.spec.get("env", [])}
        # Volumes are directories of the pod's own.
        for mount in self.spec.get("volumeMounts", []):
            place = os.path.join(self.directory, "volumes", mount["name"])
            os.makedirs(place, exist_ok=True)
            for name, value in found.items():
                if value.startswith(mount["mountPath"]):
                    found[name] = place + value[len(mount["mountPath"]):]
        return found

    def command(self, of):
        """What `entrypoint.sh executor` runs."""
        options = sorted((int(name.rsplit("_", 1)[1]), value) for name, value in of.items() if re.fullmatch(r"SPARK_JAVA_OPT_\d+", name))
        return [
            f"{of['JAVA_HOME']}/bin/java", *(value for _, value in options),
            f"-Xms{of['SPARK_EXECUTOR_MEMORY']}", f"-Xmx{of['SPARK_EXECUTOR_MEMORY']}",
            "-cp", ":".join([of.get("SPARK_CLASSPATH", ""), f"{of['SPARK_HOME']}/jars/*", of.get("SPARK_DIST_CLASSPATH", "")]), BACKEND,
            "--driver-url", of["SPARK_DRIVER_URL"], "--executor-id", of["SPARK_EXECUTOR_ID"], "--cores", of["SPARK_EXECUTOR_CORES"],
            "--app-id", of["SPARK_APPLICATION_ID"], "--hostname", of["SPARK_EXECUTOR_POD_IP"],
            "--resourceProfileId", of["SPARK_RESOURCE_PROFILE_ID"], "--podName", of["SPARK_EXECUTOR_POD_NAME"],
        ]

    def container_status(self, state, **more):
        return [{"name": self.spec["name"], "image": self.spec["image"], "imageID": "image", "restartCount": 0, "state": state, **more}]

    def run(self):
        assert self.spec["args"] == ["executor"], self.spec["args"]
        work = os.path.join(self.directory, "work-dir")
        os.makedirs(work)
        environment = self.environment()
        with open(os.path.join(self.directory, "stderr"), "wb") as log:
            self.process = subprocess.Popen(self.command(environment), env=environment, cwd=work, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, start_new_session=True)
        started = now()
        running = {"phase": "Running", "podIP": self.address, "podIPs": [{"ip": self.address}], "hostIP": "127.0.0.1", "startTime": started}
        running["containerStatuses"] = self.container_status({"running": {"startedAt": started}}, ready=True, started=True)
        self.api.set_status(self.name, running)
        code = self.process.wait()
        try:
            # Python workers end with their container.
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        code = code if code >= 0 else 128 - code
        ended = {"exitCode": code, "reason": "Completed" if code == 0 else "Error", "startedAt": started, "finishedAt": now()}
        status = {"phase": "Succeeded" if code == 0 else "Failed"}
        status["containerStatuses"] = self.container_status({"terminated": ended}, ready=False, started=False)
        self.api.set_status(self.name, status)
        print(f"{self.name} ended with {code}", flush=True)

    def executor(self):
        """The process that `decom.sh` signals: a `java` with `Executor` in its command line."""
        with open(f"/proc/{self.process.pid}/comm") as name, open(f"/proc/{self.process.pid}/cmdline") as words:
            name, words = name.read().strip(), words.read()
        assert name == "java" and "Executor" in words, (name, words)
        return self.process.pid

    def delete(self):
        """What happens when the pod is deleted: its `preStop` hook, and SIGTERM."""
        if self.deleted:
            return
        self.deleted = True
        threading.Thread(target=self.stop, daemon=True).start()

    def stop(self):
        deadline = time.monotonic() + self.grace
        hook = self.spec.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", [])
        if hook == ["/opt/decom.sh"]:
            print(f"{self.name} is decommissioned", flush=True)
            os.kill(self.executor(), signal.SIGPWR)
            # The script waits a minute for the end.
            self.wait(min(deadline, time.monotonic() + 60))
        if self.process.poll() is None:
            print(f"{self.name} is told to end", flush=True)
            self.process.terminate()
            self.wait(deadline)
        if self.process.poll() is None:
            self.process.kill()

    def wait(self, deadline):
        while self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)


def main(url, directory, *image):
    api, containers = Api(url), {}
    image = dict(entry.split("=", 1) for entry in image)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    while not ended.wait(0.2):
        pods = {pod["metadata"]["name"]: pod for pod in api.call("GET", PODS).get("items") or []}
        for name, pod in pods.items():
            if name not in containers:
                containers[name] = Container(api, pod, len(containers) + 10, directory, image)
            elif pod["metadata"].get("deletionTimestamp"):
                containers[name].delete()
        for name, container in containers.items():
            if name not in pods and container.process and container.process.poll() is None:
                container.delete()
    for container in containers.values():
        if container.process and container.process.poll() is None:
            os.killpg(container.process.pid, signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
