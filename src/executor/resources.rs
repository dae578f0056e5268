//! Custom resources (GPUs and the like) that the executor has and registers.
//!
//! Source: `org.apache.spark.resource.ResourceUtils.getOrDiscoverAllResourcesForResourceProfile`: what the launcher allocated is in the resources
//! file; what is asked for and not in it is found by a discovery script.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Deserialize;
use wire::messages::{ResourceInformation, ResourceProfile};

use super::error::ExecutorError;
use crate::config::SparkProperties;
use crate::launch::ExecutorArguments;
use crate::launch::executor_args::read_resources_file;

/// Names in an executor's profile that are no custom resources.
const BUILT_IN: [&str; 5] = [
    "cores",
    "memory",
    "memoryOverhead",
    "offHeap",
    "pyspark.memory",
];
/// A discovery script prints a line; a longer output is a mistake.
const MAX_SCRIPT_OUTPUT: usize = 1 << 20;

#[derive(Debug, PartialEq, Eq)]
struct Request {
    amount: u64,
    script: String,
}

/// Resources by name, as registered with the driver.
///
/// # Errors
/// The resources file or a discovery script is missing, unreadable, or yields less than what is asked for.
pub(super) async fn allocated(
    arguments: &ExecutorArguments,
    profile: &ResourceProfile,
    properties: &SparkProperties,
) -> Result<IndexMap<String, ResourceInformation>, ExecutorError> {
    let mut found = IndexMap::new();
    if let Some(file) = &arguments.resources_file {
        for resource in
            read_resources_file(file).map_err(|why| ExecutorError::Setting(why.to_string()))?
        {
            found.insert(
                resource.name.clone(),
                ResourceInformation {
                    name: resource.name,
                    addresses: resource.addresses,
                },
            );
        }
    }
    for (name, request) in requests(profile, properties)? {
        let have = match found.get(&name) {
            Some(resource) => resource.addresses.len(),
            None => {
                let resource = discover(&name, &request.script).await?;
                let have = resource.addresses.len();
                found.insert(name.clone(), resource);
                have
            }
        };
        if (have as u64) < request.amount {
            return Err(ExecutorError::Setting(format!(
                "Resource {name}: {have} addresses are allocated to this executor, but {} are asked for; check spark.executor.resource.{name}.amount and what the \
                 cluster manager or the discovery script gives",
                request.amount
            )));
        }
    }
    Ok(found)
}

/// What is asked for: of the default profile by settings, of others in the profile.
fn requests(
    profile: &ResourceProfile,
    properties: &SparkProperties,
) -> Result<BTreeMap<String, Request>, ExecutorError> {
    let mut wanted = BTreeMap::new();
    if profile.id != 0 {
        for (name, request) in &profile.executor_resources {
            if !BUILT_IN.contains(&name.as_str()) {
                let amount = u64::try_from(request.amount).unwrap_or(0);
                wanted.insert(
                    name.clone(),
                    Request {
                        amount,
                        script: request.discovery_script.clone(),
                    },
                );
            }
        }
        return Ok(wanted);
    }
    const PREFIX: &str = "spark.executor.resource.";
    let keys: Vec<String> = properties.iter().map(|(key, _)| key.to_owned()).collect();
    for key in keys {
        let Some(name) = key
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.strip_suffix(".amount"))
        else {
            continue;
        };
        let amount = properties
            .number(&key, 0_u64, 0, u64::MAX)
            .map_err(|why| ExecutorError::Setting(why.to_string()))?;
        let script = properties.text(&format!("{PREFIX}{name}.discoveryScript"), "");
        if amount > 0 {
            wanted.insert(name.to_owned(), Request { amount, script });
        }
    }
    Ok(wanted)
}

#[derive(Deserialize)]
struct Discovered {
    name: String,
    addresses: Vec<String>,
}

async fn discover(name: &str, script: &str) -> Result<ResourceInformation, ExecutorError> {
    let wrong = |why: String| {
        ExecutorError::Setting(format!(
            "Resource {name}: {why}; see spark.executor.resource.{name}.discoveryScript"
        ))
    };
    if script.is_empty() {
        return Err(wrong(
            "it is asked for, but neither the resources file nor a discovery script gives it"
                .to_owned(),
        ));
    }
    let output = tokio::process::Command::new(script)
        .output()
        .await
        .map_err(|why| wrong(format!("cannot run {script}: {why}")))?;
    if !output.status.success() {
        return Err(wrong(format!("{script} failed with {}", output.status)));
    }
    if output.stdout.len() > MAX_SCRIPT_OUTPUT {
        return Err(wrong(format!(
            "{script} printed {} bytes",
            output.stdout.len()
        )));
    }
    let found: Discovered = serde_json::from_slice(&output.stdout).map_err(|why| {
        wrong(format!("{script} did not print JSON such as {{\"name\": \"{name}\", \"addresses\": [\"0\", \"1\"]}}: {why}"))
    })?;
    if found.name != name {
        return Err(wrong(format!(
            "{script} printed the resource {}",
            found.name
        )));
    }
    Ok(ResourceInformation {
        name: found.name,
        addresses: found.addresses,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn a_discovery_script_names_the_addresses() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("gpus");
        let write = |text: &str| {
            std::fs::write(&script, text).unwrap();
            std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        let path = script.to_str().unwrap().to_owned();
        write("#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": [\"0\", \"1\"]}'\n");
        assert_eq!(discover("gpu", &path).await.unwrap().addresses, ["0", "1"]);
        let other = discover("fpga", &path).await.unwrap_err().to_string();
        assert!(
            other.contains("spark.executor.resource.fpga.discoveryScript"),
            "{other}"
        );
        write("#!/bin/sh\nexit 3\n");
        assert!(
            discover("gpu", &path)
                .await
                .unwrap_err()
                .to_string()
                .contains("exit status: 3")
        );
        assert!(discover("gpu", "").await.is_err());
    }
}
