//! Executors in pods: a mock of Kubernetes' API server, a small kubelet, and drivers in client and in cluster mode.
//!
//! The jars come from packages (`setup_services` of `scripts/lib.sh`), and each application starts its own server.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::{Distribution, NEWEST, OLDEST, each_version};

use crate::jobs::compared;
use crate::lanes;
use crate::places;
use crate::process::{Running, read_lossy, wait_for};
use crate::submit::{Application, Cluster, Outcome, Side, job_with, logs_below};

/// Two pods, of which one is killed and one deleted; with the secret that the driver gives to pods.
const PODS: Application = Application {
    name: "kubernetes",
    program: "spark-submit",
    seconds: 300,
    arguments: |_, work| {
        let mut arguments = job_with(&["support.py", "containers.py"], "kubernetes.py", work);
        arguments.push(work.join("scratch").display().to_string());
        arguments
    },
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/kubernetes.py",
        "jobs/kubelet.py",
        "jobs/containers.py",
        "jobs/support.py",
        "java/MockKube.java",
        "services",
        "e2e/kubernetes.rs",
        "e2e/submit.rs",
    ],
};

/// Pods that come when there is work and go when there is none; of two resource profiles.
const ALLOCATION: Application = Application {
    name: "kubernetes-allocation",
    arguments: |_, work| job_with(&["support.py"], "kubernetes_allocation.py", work),
    sources: &[
        "jobs/kubernetes_allocation.py",
        "jobs/kubelet.py",
        "jobs/support.py",
        "java/MockKube.java",
        "services",
        "e2e/kubernetes.rs",
        "e2e/submit.rs",
    ],
    ..PODS
};

/// The driver in a pod, too, and all of them containers of the image that `packaging/Dockerfile` describes; with files
/// of a config map and of a secret. The job ends with an exit code of its own.
const CLUSTER: Application = Application {
    name: "kubernetes-cluster",
    arguments: |_, _| {
        let local = |name: &str| format!("local:///opt/jobs/{name}");
        let modules = ["support.py", "containers.py"].map(local);
        vec![
            "--py-files".to_owned(),
            modules.join(","),
            local("kubernetes_cluster.py"),
            "/mnt/result.json".to_owned(),
            "/mnt/scratch".to_owned(),
        ]
    },
    sources: &[
        "jobs/kubernetes_cluster.py",
        "jobs/kubelet.py",
        "jobs/image.py",
        "jobs/containers.py",
        "jobs/support.py",
        "java/MockKube.java",
        "services",
        "e2e/kubernetes.rs",
        "e2e/submit.rs",
    ],
    ..PODS
};

/// The text of a secret that pods may mount.
const SECRET: &str = "a secret of mine";

fn start_server(work: &Path) -> (Running, String) {
    let jars = testkit::cache_dir().join("services/mock-kube");
    assert!(
        jars.is_dir(),
        "{} is missing: scripts/test installs it",
        jars.display()
    );
    let mut command = Command::new(testkit::jdk().join("bin/java"));
    command
        .args(["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"])
        .arg("-cp")
        .arg(jars.join("*"))
        .arg(testkit::repository().join("tests/java/MockKube.java"))
        // It ends with its standard input.
        .stdin(Stdio::piped());
    let server = Running::start(&mut command, work, "api-server", false);
    let url = wait_for("the API server", 60, || {
        let said = read_lossy(&server.stdout);
        let url = said.lines().find(|line| line.starts_with("http"))?;
        Some(url.to_owned())
    });
    (server, url)
}

/// Pods have this image, and may mount a secret.
fn start_kubelet(distribution: &Distribution, work: &Path, url: &str, image: &str) -> Running {
    let pods = work.join("pods");
    fs::create_dir_all(&pods).unwrap();
    let mut command = Command::new(&distribution.python);
    command
        .arg(places::jobs().join("kubelet.py"))
        .arg(url)
        .arg(pods)
        .args([image, SECRET])
        .stdin(Stdio::piped());
    Running::start(&mut command, work, "kubelet", false)
}

/// The environment of an image with this side's `JAVA_HOME`.
fn environment_of_image(distribution: &Distribution, work: &Path, side: Side) -> String {
    let home = work.join("home");
    let python = home.join("python/lib");
    let packages = ["pyspark.zip", &py4j(distribution)].map(|name| python.join(name));
    let packages = packages.map(|path| path.display().to_string());
    serde_json::json!({
        "JAVA_HOME": side.java_home(),
        "FIRESTEEL_JAVA_HOME": testkit::jdk(),
        "SPARK_HOME": home,
        "PYTHONPATH": packages.join(":"),
    })
    .to_string()
}

/// An image that is made here: Spark's own on the plain side, and the one of the recipe on the other.
fn image(distribution: &Distribution, work: &Path, side: Side) -> String {
    let image = work.join("image");
    fs::create_dir_all(&image).unwrap();
    let environment = distribution.python.parent().and_then(Path::parent);
    let mut command = Command::new(&distribution.python);
    command
        .arg(places::jobs().join("image.py"))
        .args([&image, &distribution.home, &testkit::jdk()])
        .arg(environment.expect("the directory of bin/python"));
    if side == Side::Firesteel {
        // What the recipe calls `firesteel` may be called otherwise here.
        let context = work.join("context");
        fs::create_dir_all(&context).unwrap();
        symlink(testkit::firesteel(), context.join("firesteel")).unwrap();
        command
            .arg(testkit::repository().join("packaging/Dockerfile"))
            .arg(context);
    }
    let mut making = Running::start(&mut command, work, "image", false);
    assert_eq!(
        making.exit_code(60),
        0,
        "exit code of image.py, which needs name spaces (root, or `unshare` for others):\n{}\n{}",
        read_lossy(&making.stdout),
        making.log()
    );
    image.join("image.json").display().to_string()
}

/// The name of Py4J's archive.
fn py4j(distribution: &Distribution) -> String {
    let lib = distribution.home.join("python/lib");
    let names = std::fs::read_dir(lib).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .find(|name| name.starts_with("py4j-") && name.ends_with(".zip"))
        .expect("Py4J is part of a distribution")
}

/// An API server and a kubelet for one application, whose containers have `image`; with settings given that server's
/// address.
fn kubernetes(
    distribution: &Distribution,
    work: &Path,
    image: &str,
    conf: impl FnOnce(&str) -> Vec<String>,
) -> Cluster {
    let (server, url) = start_server(work);
    let kubelet = start_kubelet(distribution, work, &url, image);
    let common = [
        "spark.executor.cores=2",
        "spark.executor.memory=600m",
        "spark.kubernetes.container.image=spark:test",
        "spark.kubernetes.allocation.batch.delay=500ms",
        // Not more than a machine that is busy needs.
        "spark.kubernetes.submission.requestTimeout=60000",
        "spark.kubernetes.driver.requestTimeout=60000",
        "spark.sql.codegen.wholeStage=false",
    ];
    let mut arguments = vec!["--master".to_owned(), format!("k8s://{url}")];
    for conf in common.map(str::to_owned).into_iter().chain(conf(&url)) {
        arguments.extend(["--conf".to_owned(), conf]);
    }
    Cluster {
        arguments,
        environment: Vec::new(),
        logs: work.join("pods"),
        processes: vec![server, kubelet],
        of_image: false,
    }
}

/// Runs both sides with a driver in client mode, and compares them.
fn in_client_mode(
    application: &Application,
    version: &'static str,
    conf: &[&str],
) -> Option<Outcome> {
    compared(application.name, version, |distribution, side| {
        application.run_on(distribution, side, |work| {
            let image = environment_of_image(distribution, work, side);
            kubernetes(distribution, work, &image, |_| {
                conf.iter().map(|conf| (*conf).to_owned()).collect()
            })
        })
    })
}

fn pods(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let conf = [
        "spark.executor.instances=2",
        "spark.authenticate=true",
        "spark.decommission.enabled=true",
        "spark.storage.decommission.enabled=true",
    ];
    let Some(outcome) = in_client_mode(&PODS, version, &conf) else {
        return;
    };
    assert_eq!(outcome.result["lost"], serde_json::json!(["2", "3"]));
    let deleted = &outcome.result["answers"]["deleted"];
    assert_eq!(deleted["same"], true, "{deleted}");
    // Neither the killed executor nor the decommissioned one: its report is looked at, too.
    let reports = lanes::reports_without(&outcome, version, &["2"]);
    lanes::check_native(&reports);
    for lane in ["python", "sql"] {
        assert!(lanes::ended(&reports, lane) > 0, "{lane}: {reports:#?}");
    }
    let logs = logs_below(outcome.executor_logs.as_deref().expect("a run of now"));
    let moved = "Will exit when finished decommissioning";
    assert!(logs.len() >= 4, "{} logs", logs.len());
    assert!(
        logs.iter().any(|(_, text)| text.contains(moved)),
        "no executor says '{moved}'"
    );
}

fn allocation(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    let conf = [
        "spark.dynamicAllocation.enabled=true",
        "spark.dynamicAllocation.shuffleTracking.enabled=true",
        "spark.dynamicAllocation.maxExecutors=3",
        "spark.dynamicAllocation.executorIdleTimeout=3s",
    ];
    let Some(outcome) = in_client_mode(&ALLOCATION, version, &conf) else {
        return;
    };
    let kept = &outcome.result["answers"]["kept"];
    assert_eq!(kept["same"], true, "{kept}");
    let reports = lanes::reports(&outcome, version);
    lanes::check_native(&reports);
    for lane in ["python", "sql"] {
        assert!(lanes::ended(&reports, lane) > 0, "{lane}: {reports:#?}");
    }
}

/// Settings of an application whose driver is a container, too.
fn conf_of_cluster_mode(work: &Path, url: &str, side: Side) -> Vec<String> {
    let template = work.join("template.yaml");
    let text = "metadata:\n  labels:\n    team: blue\nspec:\n  containers:\n  - name: any\n";
    fs::write(&template, text).unwrap();
    // It comes to all pods in a config map.
    fs::create_dir_all(work.join("home/conf")).unwrap();
    fs::write(work.join("home/conf/mine.txt"), "a file of mine").unwrap();
    // The user of the image is another one.
    for written in [work, &work.join("scratch"), &work.join("reports")] {
        fs::set_permissions(written, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut conf = [
        "spark.submit.deployMode=cluster",
        "spark.driver.memory=700m",
        "spark.executor.instances=2",
        "spark.sql.warehouse.dir=/mnt/warehouse",
        "spark.authenticate=true",
        "spark.kubernetes.driver.secrets.of-application=/etc/of-application",
        "spark.kubernetes.executor.secrets.of-application=/etc/of-application",
        "spark.kubernetes.authenticate.driver.serviceAccountName=spark",
        // Pods that are gone are to be looked at.
        "spark.kubernetes.executor.deleteOnTermination=false",
    ]
    .map(str::to_owned)
    .to_vec();
    conf.extend([
        format!("spark.kubernetes.driver.master={url}"),
        format!(
            "spark.kubernetes.executor.podTemplateFile={}",
            template.display()
        ),
    ]);
    if side == Side::Firesteel {
        conf.push("spark.executorEnv.FIRESTEEL_REPORT=/mnt/reports/{id}.json".to_owned());
    }
    conf
}

/// Whether containers with a file system of their own can be made: as root, or in name spaces of a user, and where the
/// file system of this build can be the upper one of an overlay.
fn overlays_are_allowed(version: &str) -> bool {
    let work = places::fresh_dir(&format!("{version}-kubernetes-overlay"));
    let parts = ["upper", "work", "root"].map(|name| work.join(name));
    for part in &parts {
        fs::create_dir_all(part).unwrap();
    }
    let [upper, inner, root] = parts.each_ref().map(|part| part.display());
    let mount = format!(
        "mount -t overlay overlay -o lowerdir=/,upperdir={upper},workdir={inner} {root} && chroot {root} true"
    );
    let unshare = |options: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args(options)
            .args(["--mount", "--uts", "sh", "-c", &mount]);
        command.stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    unshare(&[]) || unshare(&["--map-root-user"])
}

fn cluster(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    if !overlays_are_allowed(version) {
        eprintln!("not tested: mounting an overlay in a name space of its own is not allowed here");
        return;
    }
    let outcome = compared(CLUSTER.name, version, |distribution, side| {
        CLUSTER.run_on(distribution, side, |work| Cluster {
            of_image: true,
            // It becomes a volume of the pods.
            environment: vec![("SPARK_LOCAL_DIRS", PathBuf::from("/var/data/local"))],
            ..kubernetes(
                distribution,
                work,
                &image(distribution, work, side),
                |url| conf_of_cluster_mode(work, url, side),
            )
        })
    });
    let Some(outcome) = outcome else {
        return;
    };
    let reports = lanes::reports(&outcome, version);
    lanes::check_native(&reports);
    for lane in ["python", "sql"] {
        assert!(lanes::ended(&reports, lane) > 0, "{lane}: {reports:#?}");
    }
    let pods = outcome.executor_logs.as_deref().expect("a run of now");
    let kubelet = pods.parent().expect("the run's directory");
    let kubelet = read_lossy(&kubelet.join("kubelet.out"));
    let ends = |pod: &str, code: &str| {
        let ends = kubelet
            .lines()
            .filter(|line| line.contains(pod) && line.ends_with(&format!(" ended with {code}")));
        ends.count()
    };
    assert_eq!(
        (ends("-driver", "3"), ends("-exec-", "0")),
        (1, 2),
        "{kubelet}"
    );
    // The driver deleted no pod.
    assert!(!kubelet.contains("is told to end"), "{kubelet}");
}

each_version!(pods_as_plain_spark, super::pods);
each_version!(allocation_as_plain_spark, super::allocation);
each_version!(cluster_mode_as_plain_spark, super::cluster);
