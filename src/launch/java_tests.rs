use super::*;
use crate::launch::jdk::Jdk;
use std::process::Command;

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn args(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn class(words: &[&str]) -> Result<JavaCommand, String> {
    match JavaCommand::parse(&args(words), |_| None) {
        Ok(JavaLaunch::Class(command)) => Ok(command),
        other => Err(format!("{words:?}: {other:?}")),
    }
}

#[test]
fn a_standalone_executor_is_understood() -> TestResult {
    let command = class(&[
        "-cp",
        "/conf/:/jars/a.jar",
        "-Xmx1024M",
        "-Dspark.driver.port=4711",
        "-Djava.net.preferIPv6Addresses=false",
        "-XX:+IgnoreUnrecognizedVMOptions",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
        "--add-modules=jdk.incubator.vector",
        "-Xss4M",
        "org.apache.spark.executor.CoarseGrainedExecutorBackend",
        "--driver-url",
        "spark://CoarseGrainedScheduler@h:1",
    ])?;
    assert_eq!(
        command.main_class,
        "org.apache.spark.executor.CoarseGrainedExecutorBackend"
    );
    assert_eq!(command.class_path, "/conf/:/jars/a.jar");
    assert_eq!(
        command.args,
        ["--driver-url", "spark://CoarseGrainedScheduler@h:1"]
    );
    assert_eq!(command.options.len(), 7);
    assert_eq!(command.system_property("spark.driver.port"), Some("4711"));
    assert_eq!(command.main_thread_stack(), 4 << 20);
    let jvm = command.jvm_options(&[PathBuf::from("/b/bridge.jar")]);
    assert_eq!(
        jvm.get(7).map(String::as_str),
        Some("-Djava.class.path=/b/bridge.jar:/conf/:/jars/a.jar")
    );
    assert!(jvm.contains(&format!(
        "-Dsun.java.command={} --driver-url spark://CoarseGrainedScheduler@h:1",
        command.main_class
    )));
    Ok(())
}

#[test]
fn everything_unusual_is_for_the_real_launcher() {
    let lines: &[&[&str]] = &[
        &[],
        &["-version"],
        &["-cp", "x", "--version", "Main"],
        &["-jar", "app.jar"],
        &["-cp", "x", "-jar", "app.jar"],
        &["-m", "mod/Main"],
        &["--module=mod/Main"],
        &["--source", "17", "Main.java"],
        &["--source 17", "Main.java"],
        &["Main.java"],
        &["--list-modules"],
        &["-d", "java.base"],
        &["--describe-module=java.base"],
        &["--dry-run", "Main"],
        &["-X"],
        &["-?"],
        &["-fullversion"],
    ];
    for line in lines {
        let parsed = JavaCommand::parse(&args(line), |_| None);
        assert!(
            matches!(parsed, Ok(JavaLaunch::Other(_))),
            "{line:?}: {parsed:?}"
        );
    }
}

#[test]
fn the_later_of_jar_and_class_path_decides() -> TestResult {
    assert_eq!(class(&["-jar", "-cp", "x", "Main"])?.main_class, "Main");
    Ok(())
}

#[test]
fn missing_values_are_mistakes() {
    let lines: &[&[&str]] = &[
        &["-cp"],
        &["-cp", "-Xmx1g", "Main"],
        &["--add-opens"],
        &["-p", "", "Main"],
        &["--add-modules=", "Main"],
        &["-jar"],
    ];
    for line in lines {
        let parsed = JavaCommand::parse(&args(line), |_| None);
        assert!(
            matches!(parsed, Err(JavaCommandError::MissingValue { .. })),
            "{line:?}: {parsed:?}"
        );
    }
}

#[test]
fn the_class_path_has_an_order_of_sources() -> TestResult {
    let with_env = |words: &[&str]| match JavaCommand::parse(&args(words), |name| {
        (name == "CLASSPATH").then(|| "env".to_owned())
    }) {
        Ok(JavaLaunch::Class(command)) => Ok(command.class_path),
        other => Err(format!("{other:?}")),
    };
    assert_eq!(class(&["Main"])?.class_path, ".");
    assert_eq!(with_env(&["Main"])?, "env");
    assert_eq!(
        with_env(&["--class-path=a", "-classpath", "b", "Main"])?,
        "b"
    );
    assert_eq!(with_env(&["-cp", "", "Main"])?, "");
    assert_eq!(with_env(&["-cp", "a", "-Djava.class.path=c", "Main"])?, "c");
    Ok(())
}

#[test]
fn slashes_in_the_main_class_are_dots() -> TestResult {
    assert_eq!(class(&["a/b/Main"])?.main_class, "a.b.Main");
    Ok(())
}

#[test]
fn the_stack_of_the_main_thread_follows_xss() -> TestResult {
    assert_eq!(class(&["-Xss1k", "Main"])?.main_thread_stack(), 64 << 10);
    assert_eq!(
        class(&["-Xss2m", "-Xss8m", "Main"])?.main_thread_stack(),
        8 << 20
    );
    assert_eq!(
        class(&["-Xss0", "Main"])?.main_thread_stack(),
        class(&["Main"])?.main_thread_stack()
    );
    Ok(())
}

/// The JVM options, main class and arguments that the real launcher makes of a command line; it prints them when asked
/// for a trace.
fn real_launcher(
    jdk: &Jdk,
    words: &[String],
    java_options: Option<&str>,
) -> Result<(Vec<String>, Vec<String>), Box<dyn std::error::Error>> {
    let mut command = Command::new(jdk.java());
    command
        .args(words)
        .env_clear()
        .env("_JAVA_LAUNCHER_DEBUG", "1")
        .env("LC_ALL", "C.UTF-8");
    if let Some(options) = java_options {
        command.env("JDK_JAVA_OPTIONS", options);
    }
    let trace = String::from_utf8(command.output()?.stdout)?;
    let quoted = |line: &str, prefix: &str| {
        let rest = line.trim_start().strip_prefix(prefix)?.split_once("= '")?.1;
        Some(rest.strip_suffix('\'')?.to_owned())
    };
    let launcher_own = |option: &String| {
        option.starts_with("-Dsun.java.command=")
            || option.starts_with("-Dsun.java.launcher=")
            || option == "-Dsun.java.launcher.diag=true"
            // JDK 17 passes it on, JDK 21 does not; it means nothing to the JVM.
            || option == "--disable-@files"
    };
    let options = trace
        .lines()
        .filter_map(|line| quoted(line, "option["))
        .filter(|option| !launcher_own(option))
        .collect();
    let arguments = trace
        .lines()
        .filter_map(|line| quoted(line, "argv[ "))
        .collect();
    Ok((options, arguments))
}

#[test]
fn agrees_with_the_real_launcher() -> TestResult {
    let jdk = Jdk::find_on_this_machine()?;
    let dir = tempfile::tempdir()?;
    for jar in ["one.jar", "two.JAR", "three.txt"] {
        std::fs::write(dir.path().join(jar), "")?;
    }
    let star = format!("{}/*", dir.path().display());
    let file = dir.path().join("args");
    std::fs::write(
        &file,
        "-Da=\"quoted value\" # comment\n-Db='it''s' -Dc=x#lost\n-Dd=\"two \\\n   lines\\t\\\\\" \"-De=open\n-Df=\"\"\n-cp \"c d\"",
    )?;
    let at = format!("@{}", file.display());
    let cases: &[(&[&str], Option<&str>)] = &[
        (&["-cp", &star, "-Xmx64m", "NoMain", "-x", "y"], None),
        (
            &[
                "-classpath",
                &format!("a:{star}:b"),
                "-server",
                "-ea",
                "-da:pkg...",
                "-Xss512k",
                "NoMain",
            ],
            None,
        ),
        (
            &[
                "--class-path=x",
                "--add-opens",
                "java.base/java.lang=ALL-UNNAMED",
                "--add-opens=java.base/java.io=ALL-UNNAMED",
                "NoMain",
            ],
            None,
        ),
        (
            &[
                "--add-modules",
                "java.sql",
                "--add-exports",
                "java.base/sun.nio.ch=ALL-UNNAMED",
                "--add-reads=java.sql=ALL-UNNAMED",
                "NoMain",
            ],
            None,
        ),
        (
            &[
                "-p",
                "/none",
                "--enable-native-access",
                "ALL-UNNAMED",
                "-verbosegc",
                "-noverify",
                "-ms32m",
                "-mx64m",
                "NoMain",
                "@kept",
            ],
            None,
        ),
        (&[&at, "NoMain", &at], None),
        (&["--disable-@files", "-Dx=@y", "NoMain", "@@z"], None),
        (
            &["-Dafter=1", "NoMain"],
            Some("-Dbefore='b c' --add-modules java.sql -cp \"e f\""),
        ),
        (
            &[
                "-cp",
                "@@odd",
                "-splash:none.png",
                "-Xdiag",
                "-agentlib:jdwp=help",
                "NoMain",
            ],
            None,
        ),
        (
            &[
                "-Djava.class.path=k",
                "-esa",
                "-XX:+UseSerialGC",
                "--enable-preview",
                "NoMain",
            ],
            None,
        ),
    ];
    for (words, java_options) in cases {
        let words = args(words);
        let (mut real, real_args) = real_launcher(&jdk, &words, *java_options)?;
        assert!(!real.is_empty(), "no trace of {words:?}");
        let env = |name: &str| {
            java_options
                .filter(|_| name == "JDK_JAVA_OPTIONS")
                .map(str::to_owned)
        };
        let JavaLaunch::Class(command) = JavaCommand::parse(&words, env)? else {
            return Err(format!("{words:?} is not a class").into());
        };
        let mut ours = command.options.clone();
        ours.retain(|option| option != "-Dsun.java.launcher.diag=true");
        // The launcher puts the class path where it stood; the last one counts.
        let real_path = real
            .iter()
            .rev()
            .find_map(|option| option.strip_prefix("-Djava.class.path="))
            .map(str::to_owned);
        real.retain(|option| !option.starts_with("-Djava.class.path="));
        assert_eq!(ours, real, "options of {words:?}");
        assert_eq!(
            Some(&command.class_path),
            real_path.as_ref(),
            "class path of {words:?}"
        );
        if !real_args.is_empty() {
            assert_eq!(command.args, real_args, "arguments of {words:?}");
        }
    }
    Ok(())
}
