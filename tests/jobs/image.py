"""An image of Spark for tests, as a directory, and containers of it: what a builder of images would make of `packaging/Dockerfile`, without
one. Needs name spaces of Linux (`unshare`), and root or a kernel that lets others have them.

usage: image.py DIRECTORY SPARK_HOME JDK PYTHON_ENVIRONMENT [DOCKERFILE CONTEXT]

Makes the image in DIRECTORY and describes it in `image.json` there. Its base has what Spark's official images have: a distribution in
/opt/spark, a JDK in /opt/java/openjdk, the user `spark`; the jobs are in /opt/jobs; what is outside /opt is this machine's. With a Dockerfile, its steps follow.
With `entrypoint.sh` in the directory that FIRESTEEL_E2E_ENTRYPOINT names, containers are started by it, which needs `tini`."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

SPARK_USER = 185
WORK = "/opt/spark/work-dir"


class Image:
    """`opt` is the image's /opt. Directories of this machine are in it as (source, place)."""

    def __init__(self, directory, binds, env, user):
        self.directory, self.binds, self.env, self.user = directory, binds, env, user
        self.opt = os.path.join(directory, "opt")

    @classmethod
    def load(cls, file):
        with open(file) as source:
            return cls(**json.load(source))

    def save(self):
        with open(os.path.join(self.directory, "image.json"), "w") as out:
            json.dump({"directory": self.directory, "binds": self.binds, "env": self.env, "user": self.user}, out, indent=1)

    def inside(self, container, command, user=None, binds=(), hosts=(("127.0.0.1", "build"),), work="/"):
        """The command line that runs `command` in a new container, whose own files are below the directory `container` and whose own name
        is the first of `hosts`."""
        root, files = os.path.join(container, "root"), os.path.join(container, "files")
        for place in [root, os.path.join(container, "overlay"), f"{files}/etc", f"{files}/tmp"]:
            os.makedirs(place, exist_ok=True)
        os.chmod(f"{files}/tmp", 0o1777)
        # The environment links to the interpreter's own place, which may be below somebody's home: all may go there.
        for source, place in self.binds:
            if place == "/opt/python":
                os.makedirs(files + os.path.dirname(os.path.realpath(f"{source}/bin/python")), exist_ok=True)
        user = int(self.user if user is None else user)
        with open("/etc/passwd") as known, open(f"{files}/etc/passwd", "w") as out:
            out.write(known.read() + f"spark:x:{SPARK_USER}:{SPARK_USER}::/nonexistent:/bin/sh\n")
        with open(f"{files}/etc/hosts", "w") as out:
            out.write("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for address, name in hosts))
        steps = [["hostname", hosts[0][1]]]
        steps += [["mount", "-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={files},workdir={container}/overlay", root]]
        steps += [["mount", "--rbind", f"/{place}", f"{root}/{place}"] for place in ["proc", "sys", "dev"]]
        for source, place in [(self.opt, "/opt"), *self.binds, *binds]:
            steps += [["mkdir", "-p", root + place], ["mount", "--bind", source, root + place]]
        steps.append(["exec", "chroot", *([f"--userspec={user}:{user}", "--groups="] if user else []), root, "env", "-C", work, *command])
        mapped = [] if os.geteuid() == 0 else ["--map-root-user"]
        return ["unshare", *mapped, "--mount", "--uts", "sh", "-ec", "\n".join(map(shlex.join, steps))]


def tidy(container):
    """Lets everybody remove what a container has left: the kernel made a directory of its own."""
    place = os.path.join(container, "overlay/work")
    if os.path.isdir(place):
        os.chmod(place, 0o700)


def base(directory, home, jdk, python):
    """What BASE is in the recipe."""
    opt = os.path.join(directory, "opt")
    os.makedirs(opt + "/spark/conf")
    binds = [(jdk, "/opt/java/openjdk"), (python, "/opt/python"), (os.path.dirname(os.path.abspath(__file__)), "/opt/jobs")]
    binds += [(os.path.join(home, name), f"/opt/spark/{name}") for name in ["bin", "jars", "python", "sbin"]]
    for _, place in binds:
        os.makedirs(directory + place, exist_ok=True)
    os.makedirs(directory + WORK)
    os.chmod(directory + WORK, 0o777)
    real = os.environ.get("FIRESTEEL_E2E_ENTRYPOINT")
    if real:
        shutil.copy(os.path.join(real, "entrypoint.sh"), opt)
        os.chmod(f"{opt}/entrypoint.sh", 0o755)
    env = {
        "PATH": "/opt/java/openjdk/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "JAVA_HOME": "/opt/java/openjdk",
        "SPARK_HOME": "/opt/spark", "PYSPARK_PYTHON": "/opt/python/bin/python",
    }
    return Image(directory, binds, env, SPARK_USER)


def instructions(text):
    """(INSTRUCTION, what follows) of a Dockerfile."""
    text = re.sub(r"(?m)^\s*#.*\n", "", text)
    text = re.sub(r"\\\n\s*", " ", text)
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def expanded(text, variables):
    return re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda found: variables[found[1] or found[2]], text)


def apply(image, dockerfile, context):
    """The steps of a Dockerfile, with `image` as what FROM names."""
    with open(dockerfile) as source:
        steps = instructions(source.read())
    arguments, user = {}, image.user
    for number, (name, rest) in enumerate(steps):
        print(name, rest, flush=True)
        if name == "ARG":
            key, value = rest.split("=", 1)
            arguments[key] = value
        elif name == "FROM":
            # Arguments in front of it are for it alone.
            assert rest == "${BASE}" and "BASE" in arguments, rest
            arguments = {}
        elif name == "USER":
            user = {"root": "0"}.get(rest) or expanded(rest, arguments | image.env)
        elif name == "ENV":
            key, value = rest.split("=", 1)
            image.env[key] = expanded(value, arguments | image.env)
        elif name == "COPY":
            source, place = shlex.split(rest)
            source, place = os.path.join(context, source), image.directory + place
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if os.path.isdir(source):
                shutil.copytree(source, place, symlinks=True)
            else:
                shutil.copy(source, place)
        elif name == "RUN":
            container = os.path.join(image.directory, f"step-{number}")
            subprocess.run(image.inside(container, ["sh", "-c", rest], user=user), env=arguments | image.env, check=True)
            tidy(container)
        else:
            raise ValueError(f"unknown instruction: {name}")
    image.user = user
    return image


def main(directory, home, jdk, python, dockerfile=None, context=None):
    image = base(directory, home, jdk, python)
    if dockerfile:
        image = apply(image, dockerfile, context)
    image.save()


if __name__ == "__main__":
    main(*sys.argv[1:])
