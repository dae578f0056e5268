"""A kubelet for tests: runs the container of each pod of an API server as a process, reports its status, and ends it when the pod is
deleted. A container has an address and volumes of its own, and starts as the entry point of Spark's image starts it.

usage: kubelet.py API DIRECTORY IMAGE [SECRET]

IMAGE is a file of `image.py`: containers have a file system of their own, and find services by name. It may also be the environment of an
image, as a JSON object with JAVA_HOME and SPARK_HOME at least: containers are then plain processes, and see their volumes in variables
only. Makes the secret `of-application` first, with the text SECRET as its `secret`. Ends with its standard input."""

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

from image import WORK, Image, tidy

OBJECTS = "/api/v1/namespaces/default"
PODS = f"{OBJECTS}/pods"
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

    def wait_for(self, path):
        """The object at `path`: a pod may be there before what it mounts."""
        while True:
            try:
                return self.call("GET", path)
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    raise
                time.sleep(0.1)

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
        self.volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes", [])}
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
            secret = self.api.call("GET", f"{OBJECTS}/secrets/{source['secretKeyRef']['name']}")
            return base64.b64decode(secret["data"][source["secretKeyRef"]["key"]]).decode()
        return {"status.podIP": self.address, "metadata.name": self.name}[source["fieldRef"]["fieldPath"]]

    def mounts(self):
        """(directory, place) of the volumes."""
        found = []
        for mount in self.spec.get("volumeMounts", []):
            directory = os.path.join(self.directory, "volumes", mount["name"])
            if not os.path.isdir(directory):
                os.makedirs(directory)
                self.fill(self.volumes[mount["name"]], directory)
                os.chmod(directory, 0o777)
            found.append((os.path.join(directory, mount.get("subPath", "")), mount["mountPath"]))
        return found

    def fill(self, volume, directory):
        contents, items = {}, volume.get("configMap", {}).get("items") or []
        if "configMap" in volume:
            contents = self.api.wait_for(f"{OBJECTS}/configmaps/{volume['configMap']['name']}").get("data") or {}
        elif "secret" in volume:
            secret = self.api.wait_for(f"{OBJECTS}/secrets/{volume['secret']['secretName']}")
            contents = {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}
        places = {item["key"]: item["path"] for item in items} or {name: name for name in contents}
        for name, place in places.items():
            with open(os.path.join(directory, place), "w") as out:
                out.write(contents[name])

    def start_process(self, log):
        image = self.image.env if isinstance(self.image, Image) else self.image
        found = {"PATH": os.environ["PATH"], "HOME": self.directory, "HOSTNAME": self.name, **image}
        found |= {entry["name"]: self.variable(entry) for entry in self.spec.get("env", [])}
        mounts = self.mounts()
        if isinstance(self.image, Image):
            found["HOME"] = "/nonexistent"
            command = ["/opt/entrypoint.sh", *self.spec["args"]] if os.path.exists(f"{self.image.opt}/entrypoint.sh") else self.command(found, WORK)
            own = os.path.join(self.directory, "work-dir")
            os.makedirs(own)
            os.chmod(own, 0o777)
            shared = os.path.dirname(os.path.dirname(self.directory))
            command = self.image.inside(self.directory, command, binds=[(own, WORK), (shared, "/mnt"), *mounts], hosts=self.hosts(), work=WORK)
            work = "/"
        else:
            for source, place in mounts:
                found |= {name: source + value[len(place):] for name, value in found.items() if value.startswith(place)}
            work = os.path.join(self.directory, "work-dir")
            os.makedirs(work)
            command = self.command(found, work)
        return subprocess.Popen(command, env=found, cwd=work, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)

    def hosts(self):
        """(address, name) of this pod and of the services, each of which is for this pod or for one that runs already."""
        services = self.api.call("GET", f"{OBJECTS}/services").get("items") or []
        pods = {pod["metadata"]["name"]: pod for pod in self.api.call("GET", PODS).get("items") or []}
        found = [(self.address, self.name)]
        for service in services:
            wanted = service["spec"]["selector"].items()
            for name, pod in pods.items():
                if wanted <= pod["metadata"]["labels"].items():
                    address = self.address if name == self.name else pod["status"]["podIP"]
                    found.append((address, f"{service['metadata']['name']}.default.svc"))
        return found

    def command(self, of, work):
        """What the entry points of Spark's images run."""
        if self.spec["args"][0] == "driver":
            address = of["SPARK_DRIVER_BIND_ADDRESS"]
            confs = [f"spark.driver.bindAddress={address}", f"spark.executorEnv.SPARK_DRIVER_POD_IP={address}"]
            confs = [word for conf in confs for word in ["--conf", conf]]
            return [f"{of['SPARK_HOME']}/bin/spark-submit", *confs, "--deploy-mode", "client", *self.spec["args"][1:]]
        options = sorted((int(name.rsplit("_", 1)[1]), value) for name, value in of.items() if re.fullmatch(r"SPARK_JAVA_OPT_\d+", name))
        conf = of.get("SPARK_CONF_DIR", f"{of['SPARK_HOME']}/conf")
        class_path = [conf, of.get("SPARK_CLASSPATH", ""), f"{of['SPARK_HOME']}/jars/*", work, of.get("SPARK_DIST_CLASSPATH", "")]
        return [
            f"{of['JAVA_HOME']}/bin/java", *(value for _, value in options),
            f"-Xms{of['SPARK_EXECUTOR_MEMORY']}", f"-Xmx{of['SPARK_EXECUTOR_MEMORY']}", "-cp", ":".join(class_path), BACKEND,
            "--driver-url", of["SPARK_DRIVER_URL"], "--executor-id", of["SPARK_EXECUTOR_ID"], "--cores", of["SPARK_EXECUTOR_CORES"],
            "--app-id", of["SPARK_APPLICATION_ID"], "--hostname", of["SPARK_EXECUTOR_POD_IP"],
            "--resourceProfileId", of["SPARK_RESOURCE_PROFILE_ID"], "--podName", of["SPARK_EXECUTOR_POD_NAME"],
        ]

    def container_status(self, state, **more):
        return [{"name": self.spec["name"], "image": self.spec["image"], "imageID": "image", "restartCount": 0, "state": state, **more}]

    def run(self):
        os.makedirs(self.directory)
        with open(os.path.join(self.directory, "stderr"), "wb") as log:
            self.process = self.start_process(log)
        started = now()
        running = {"phase": "Running", "podIP": self.address, "podIPs": [{"ip": self.address}], "hostIP": "127.0.0.1", "startTime": started}
        running["conditions"] = [{"type": "Ready", "status": "True"}]
        running["containerStatuses"] = self.container_status({"running": {"startedAt": started}}, ready=True, started=True)
        self.api.set_status(self.name, running)
        code = self.process.wait()
        try:
            # Python workers end with their container.
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        code = code if code >= 0 else 128 - code
        tidy(self.directory)
        terminated = {"exitCode": code, "reason": "Completed" if code == 0 else "Error", "startedAt": started, "finishedAt": now()}
        status = {"phase": "Succeeded" if code == 0 else "Failed"}
        status["containerStatuses"] = self.container_status({"terminated": terminated}, ready=False, started=False)
        self.api.set_status(self.name, status)
        print(f"{self.name} ended with {code}", flush=True)

    def executor(self):
        """The process that `decom.sh` signals: a `java` with `Executor` in its command line."""
        pid = self.process.pid
        with open(f"/proc/{pid}/comm") as name:
            if name.read().strip() == "tini":
                with open(f"/proc/{pid}/task/{pid}/children") as children:
                    pid = int(children.read().split()[0])
        with open(f"/proc/{pid}/comm") as name, open(f"/proc/{pid}/cmdline") as words:
            name, words = name.read().strip(), words.read()
        assert name == "java" and "Executor" in words, (name, words)
        return pid

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


def main(url, directory, image, secret=None):
    api, containers = Api(url), {}
    image = json.loads(image) if image.startswith("{") else Image.load(image)
    if secret:
        data = {"secret": base64.b64encode(secret.encode()).decode()}
        api.call("POST", f"{OBJECTS}/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "of-application"}, "data": data})
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
