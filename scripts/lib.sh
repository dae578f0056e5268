# shellcheck shell=bash disable=SC2034
# What the scripts share: installing what is missing, building, and putting the distribution together. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${FIRESTEEL_CACHE:-$HOME/.cache/firesteel}
python_packages=(setuptools wheel numpy==2.4.6 pandas==3.1.1 pyarrow==26.0.1)
# What clients of Spark Connect need besides, from Spark 4 on.
connect_packages=(grpcio==1.85.3 grpcio-status==1.85.3 googleapis-common-protos==1.76.0 zstandard==0.25.0)
s3_server=('moto[s3]==5.2.5' flask==3.1.3 flask-cors==6.0.5)
dist=$root/dist/firesteel

# Compiled crates outlive the clone, so that a fresh clone at the same place builds in seconds. Clones at different
# places share what others wrote (take_compiled), and not our own crates: cargo takes the newer clone's programs for the
# older one's, and tests know the place that they were compiled at.
export FIRESTEEL_CACHE=$cache CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target$(tr / - <<<"$root")}
mkdir -p "$cache"

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }
fail() {
    printf '\033[1;31merror:\033[0m %s\n' "$*" >&2
    exit 1
}

# Oldest first. Tests have them from the same list.
mapfile -t spark_versions < <(sed -n 's/^ *v[0-9_]* = "\([0-9.]*\)",$/\1/p' "$root/crates/testkit/src/versions.rs")
((${#spark_versions[@]})) || fail "no Spark versions in crates/testkit/src/versions.rs"

# hold NAME: waits until no other run holds NAME, then holds it until this script ends.
hold() {
    local lock=$cache/$1.lock descriptor
    exec {descriptor}>"$lock"
    flock --nonblock "$descriptor" || {
        say "Waiting for another run of these scripts ($lock)"
        flock "$descriptor"
    }
    held+=("$descriptor")
}
held=()

# let_go: lets the next run have what was held last.
let_go() {
    local last=$((${#held[@]} - 1)) descriptor
    descriptor=${held[$last]}
    # Unlocked by name: a child that is still running has the descriptor too.
    flock --unlock "$descriptor"
    exec {descriptor}>&-
    unset "held[$last]"
}

# known_version VERSION: fails if that Spark version is not supported.
known_version() {
    [[ " ${spark_versions[*]} " == *" $1 "* ]] || fail "unknown Spark version $1; known: ${spark_versions[*]}"
}

# Prints the directory of a JDK 17 or 21 with a compiler.
find_jdk() {
    local home version
    for home in "${FIRESTEEL_JAVA_HOME:-}" "${JAVA_HOME:-}" /usr/lib/jvm/* /opt/java/* /usr/java/*; do
        [[ -n $home && -x $home/bin/javac && ! -e $home/bin/firesteel && -r $home/release ]] || continue
        version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release")
        if [[ $version == 17 || $version == 21 ]]; then
            (cd "$home" && pwd -P)
            return
        fi
    done
    return 1
}

# setup_tools: installs what building and running need, and the Debian packages in extra_tools if the command of that name is missing.
extra_tools=()
setup_tools() {
    local missing=() jdk_package tool
    command -v cargo >/dev/null || fail "cargo is missing: install Rust first (https://rustup.rs)"
    if ! find_jdk >/dev/null; then
        jdk_package=openjdk-17-jdk-headless
        # Later Debian releases have only the newer one.
        apt-cache show "$jdk_package" >/dev/null 2>&1 || jdk_package=openjdk-21-jdk-headless
        missing+=("$jdk_package")
    fi
    command -v mvn >/dev/null || missing+=(maven)
    command -v cc >/dev/null || missing+=(gcc libc6-dev)
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3 python3-venv)
    for tool in "${extra_tools[@]}"; do
        command -v "$tool" >/dev/null || missing+=("$tool")
    done
    if ((${#missing[@]})); then
        say "Installing ${missing[*]}"
        command -v apt-get >/dev/null || fail "please install: ${missing[*]} (there is no apt-get on this machine to do it)"
        local sudo=()
        ((EUID == 0)) || sudo=(sudo)
        "${sudo[@]}" apt-get update -q
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
    fi
    FIRESTEEL_JAVA_HOME=$(find_jdk) || fail "no JDK 17 or 21 found: set FIRESTEEL_JAVA_HOME to the directory of one"
    export FIRESTEEL_JAVA_HOME JAVA_HOME=$FIRESTEEL_JAVA_HOME
}

# spark_environment VERSION: prints the directory of the Python environment with that Spark distribution.
spark_environment() {
    local variable=FIRESTEEL_SPARK_DIR_${1//./_}
    printf '%s\n' "${!variable:-$cache/spark-$1}"
}

# setup_spark VERSION: makes that environment if it is not there.
setup_spark() {
    local version=$1 environment wanted stamp packages
    environment=$(spark_environment "$version")
    packages=("pyspark==$version" "${python_packages[@]}")
    [[ $version == 3.* ]] || packages+=("${connect_packages[@]}")
    wanted=${packages[*]}
    stamp=$environment/.firesteel-packages
    if [[ -r $stamp && $(<"$stamp") == "$wanted" ]]; then
        return
    fi
    if [[ $environment != "$cache/spark-$version" ]]; then
        spark_home "$version" >/dev/null
        return
    fi
    say "Spark $version in $environment"
    [[ -x $environment/bin/python ]] || python3 -m venv "$environment"
    # The package is half a gigabyte: pip's progress bar stays on. It is built into a wheel that is thrown away, so that
    # packing it well is of no use, and few modules of the others are ever imported.
    "$environment/bin/python" -m pip install --disable-pip-version-check --no-compile \
        --config-settings=--build-option=--compression=stored "${packages[@]}" |
        { grep -v '^Requirement already satisfied' || true; }
    "$environment/bin/python" -c 'import pandas, pyarrow, pyspark'
    printf '%s\n' "$wanted" >"$stamp"
}

# spark_home VERSION: prints the directory of the distribution (jars, bin, python).
spark_home() {
    local home
    for home in "$(spark_environment "$1")"/lib/python3*/site-packages/pyspark; do
        [[ -d $home/jars ]] && printf '%s\n' "$home" && return
    done
    fail "no Spark $1 in $(spark_environment "$1")"
}

# setup_services: jars and programs of the file systems that tests read from, if they are not there: HDFS and S3A from Maven, an S3 server from PyPI.
setup_services() {
    local pom name jars
    for pom in "$root"/tests/services/*.xml; do
        name=$(basename "$pom" .xml)
        jars=$cache/services/$name
        cmp -s "$pom" "$jars/pom.xml" && continue
        say "Jars of $name in $jars"
        rm -rf "$jars"
        mvn --batch-mode --quiet --file "$pom" dependency:copy-dependencies -DoutputDirectory="$jars"
        cp "$pom" "$jars/pom.xml"
    done
    local environment=$cache/services/moto
    if [[ ! -r $environment/.firesteel-packages || $(<"$environment/.firesteel-packages") != "${s3_server[*]}" ]]; then
        say "${s3_server[*]} in $environment"
        python3 -m venv "$environment"
        "$environment/bin/python" -m pip install --disable-pip-version-check --quiet "${s3_server[@]}"
        printf '%s\n' "${s3_server[*]}" >"$environment/.firesteel-packages"
    fi
}

# take_compiled FROM: begins the directory of compiled crates, if there is none, with those in FROM that others wrote:
# they are the same everywhere.
take_compiled() {
    local from=$1/release here=$CARGO_TARGET_DIR/release own
    if [[ -e $here/.fingerprint || ! -e $from/.fingerprint ]]; then
        return
    fi
    mkdir -p "$here/deps"
    cp -a "$from/build" "$from/.fingerprint" "$here/"
    # Files of hundreds of megabytes that cargo replaces and never writes into.
    find "$from/deps" -maxdepth 1 -type f \( -name '*.rlib' -o -name '*.rmeta' -o -name '*.so' -o -name '*.d' \) -exec ln -t "$here/deps" {} +
    for own in firesteel "$root"/crates/*; do
        own=$(basename "$own")
        rm -rf "$here"/{build,.fingerprint}/"$own"-* "$here"/deps/{lib,}"${own//-/_}"-*
    done
}

# take_compiled_elsewhere: the same from the clone that was built last.
take_compiled_elsewhere() {
    local last
    last=$(find "$cache" -mindepth 3 -maxdepth 3 -path '*/target-*/release/.fingerprint' -printf '%T@ %h\n' | sort -rn | sed -n '1s/^[^ ]* //p')
    if [[ -n $last ]]; then
        take_compiled "$(dirname "$last")"
    fi
}

# build_native: compiles the binary and the shared library.
build_native() {
    take_compiled_elsewhere
    say "Building firesteel (first time: a few minutes)"
    (cd "$root" && cargo build --release --locked --package firesteel --package pyworker --bin firesteel --lib)
}

# build_bridge: compiles and packs the bridge jars, unless none of their sources has changed.
build_bridge() {
    local stamp=$root/jvm-bridge/target/built
    if [[ -e $stamp && -z $(find "$root/jvm-bridge" -name target -prune -o -type f -newer "$stamp" -print -quit) ]]; then
        return
    fi
    say "Building the bridge jars (first time: downloads their dependencies)"
    (cd "$root/jvm-bridge" && mvn --batch-mode --no-transfer-progress verify) |
        awk '/Building |Compiling |Tests run|BUILD|ERROR|WARN.*warning/ { sub(/^\[INFO\] /, "    "); print; fflush() }' >&2
    touch "$stamp"
}

# assemble: puts dist/firesteel together. A copy that is in use stays intact for those who use it.
assemble() {
    local new=$root/dist/new.$$ jars=("$root"/jvm-bridge/target/jars/*.jar)
    [[ -e ${jars[0]} ]] || fail "no jars in $root/jvm-bridge/target/jars"
    rm -rf "$root"/dist/new.* "$root"/dist/old.*
    mkdir -p "$new"/{bin,lib,include,jars,python}
    cp "$CARGO_TARGET_DIR/release/firesteel" "$new/bin/firesteel"
    ln "$new/bin/firesteel" "$new/bin/java"
    cp "$CARGO_TARGET_DIR/release/libfiresteel.so" "$new/lib/"
    cp "$root"/include/*.h "$root"/include/*.hpp "$new/include/"
    cp "${jars[@]}" "$new/jars/"
    cp -r "$root"/crates/pyworker/python/. "$root"/crates/pyfunc/python/. "$new/python/"
    rm -rf "$new"/python/*/__pycache__
    cp "$CARGO_TARGET_DIR/release/libfiresteel_worker_native.so" "$new/python/firesteel_worker/_native.abi3.so"
    if [[ -e $dist ]]; then
        mv "$dist" "$root/dist/old.$$"
    fi
    mv "$new" "$dist"
    rm -rf "$root/dist/old.$$"
}

# build: everything that dist/firesteel needs.
build() {
    build_native
    build_bridge
    assemble
    export FIRESTEEL_DIST=$dist
}
