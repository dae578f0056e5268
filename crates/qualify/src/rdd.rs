//! Whether a stage of RDDs would run natively, by their classes and what made them.

use crate::event::RddInfo;
use crate::judge::{Findings, Lane, Verdict};
use crate::table::{Off, Table};

/// What becomes of the tasks of a stage of RDDs. `has_python` says that the application has RDDs of PySpark at all.
pub(crate) fn rdds(
    stage: &str,
    rdds: &[RddInfo],
    table: &Table,
    off: &Off,
    has_python: bool,
) -> Verdict {
    let mut findings = Findings::default();
    if let Some(reason) = &off.refused {
        findings.refuse(reason);
    }
    if let Some(format) = is_about_columns(stage, rdds) {
        if !table
            .formats
            .iter()
            .any(|known| known.eq_ignore_ascii_case(format))
        {
            findings.refuse(format!("columns of files of {format}"));
        }
        return findings.verdict(Lane::Columns);
    }
    if let Some(reason) = &off.python {
        findings.refuse(reason);
    }
    let of_python = |rdd: &RddInfo| {
        matches!(rdd.name.as_str(), "PythonRDD" | "PairwiseRDD")
            || rdd.call_site.contains(" at PythonRDD.scala:")
    };
    if !has_python && !rdds.iter().any(of_python) {
        let scope = rdds.iter().find_map(RddInfo::scope);
        let of = scope.map_or_else(String::new, |scope| format!(": {scope}"));
        findings.refuse(format!("RDDs of the JVM{of}"));
    }
    for rdd in rdds {
        rdd_of_python(rdd, table, &mut findings);
    }
    findings.verdict(Lane::Python)
}

/// The format of the files whose columns a job finds out.
fn is_about_columns<'s>(stage: &'s str, rdds: &[RddInfo]) -> Option<&'s str> {
    let is_one = |rdd: &RddInfo| match rdd.name.as_str() {
        "MapPartitionsRDD" => rdd.scope().as_deref() == Some("mapPartitions"),
        "ParallelCollectionRDD" => true,
        _ => false,
    };
    let format = stage.split(" at ").next()?;
    (rdds.len() == 2 && rdds.iter().all(is_one) && matches!(format, "parquet" | "orc"))
        .then_some(format)
}

fn rdd_of_python(rdd: &RddInfo, table: &Table, findings: &mut Findings) {
    // That of a mapped RDD depends on what it was mapped with.
    if rdd.name != "MapPartitionsRDD" && table.rdds.contains(&rdd.name) {
        return;
    }
    // Of an RDD with a name of its own only the place is known where it was made.
    let file = rdd
        .call_site
        .split(" at ")
        .nth(1)
        .and_then(|place| place.split(".scala:").next());
    let scope = rdd.scope();
    for known in &table.rdds {
        let of = known.strip_prefix("MapPartitionsRDD of ");
        let (class, method) = of.and_then(|of| of.split_once('.')).unwrap_or((known, ""));
        let is_its_place = file == Some(class);
        let is_its_method = of.is_some() && scope.as_deref() == Some(method);
        if is_its_place || is_its_method {
            return;
        }
    }
    if rdd.name == "MapPartitionsRDD" {
        let of = scope.unwrap_or_else(|| rdd.call_site.clone());
        findings.refuse(format!("MapPartitionsRDD of {of}"));
    } else if rdd.name.ends_with("RDD") && !rdd.name.contains([' ', '/']) {
        findings.refuse(format!("RDD {}", rdd.name));
    } else {
        findings.doubt("an RDD with a name of the program's own");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rdd(name: &str, scope: &str, call_site: &str) -> RddInfo {
        let scope = format!("{{\"id\":\"1\",\"name\":\"{scope}\"}}");
        let json = serde_json::json!({ "Name": name, "Scope": scope, "Callsite": call_site });
        serde_json::from_value(json).unwrap()
    }

    fn verdict(stage: &str, all: &[RddInfo]) -> Verdict {
        let known = [
            "PythonRDD",
            "MapPartitionsRDD",
            "ParallelCollectionRDD",
            "MapPartitionsRDD of SparkContext.textFile",
            "MapPartitionsRDD of PythonRDD.valueOfPair",
        ];
        let table = Table {
            rdds: known.map(str::to_owned).to_vec(),
            formats: vec!["Parquet".to_owned()],
            ..Table::default()
        };
        rdds(stage, all, &table, &Off::default(), false)
    }

    fn delegated(reason: &str) -> Verdict {
        Verdict::Delegated(vec![reason.to_owned()])
    }

    #[test]
    fn rdds_are_known_by_class_place_or_method() {
        let python = rdd("PythonRDD", "x", "collect at job.py:1");
        let all = [
            python.clone(),
            rdd("my numbers", "x", "RDD at PythonRDD.scala:53"),
            rdd(
                "MapPartitionsRDD",
                "mapPartitions",
                "mapPartitions at PythonRDD.scala:160",
            ),
            rdd(
                "/data/words.txt",
                "textFile",
                "textFile at NativeMethodAccessorImpl.java:0",
            ),
        ];
        assert_eq!(
            verdict("collect at job.py:1", &all),
            Verdict::Native(Lane::Python)
        );
        let saved = rdd(
            "MapPartitionsRDD",
            "saveAsTextFile",
            "saveAsTextFile at NativeMethodAccessorImpl.java:0",
        );
        assert_eq!(
            verdict("x", &[python.clone(), saved]),
            delegated("MapPartitionsRDD of saveAsTextFile")
        );
        assert_eq!(
            verdict("x", &[python.clone(), rdd("JdbcRDD", "x", "")]),
            delegated("RDD JdbcRDD")
        );
        assert!(matches!(
            verdict("x", &[python, rdd("mine", "x", "")]),
            Verdict::Unknown(_)
        ));
    }

    #[test]
    fn rdds_of_the_jvm_are_not_python_s() {
        let numbers = rdd(
            "ParallelCollectionRDD",
            "parallelize",
            "parallelize at Job.scala:3",
        );
        assert_eq!(
            verdict("count at Job.scala:3", &[numbers]),
            delegated("RDDs of the JVM: parallelize")
        );
    }

    #[test]
    fn columns_of_files_are_found_out_by_jobs_of_their_own() {
        let all = |call_site: &str| {
            let mapped = rdd("MapPartitionsRDD", "mapPartitions", call_site);
            [
                mapped,
                rdd("ParallelCollectionRDD", "parallelize", call_site),
            ]
        };
        let verdict = |stage: &str| verdict(stage, &all(stage));
        assert_eq!(
            verdict("parquet at X.java:0"),
            Verdict::Native(Lane::Columns)
        );
        assert_eq!(
            verdict("orc at X.java:0"),
            delegated("columns of files of orc")
        );
    }
}
