//! Custom resources (GPUs and the like) that the executor has and registers.
//!
//! Source: `org.apache.spark.resource.ResourceUtils.getOrDiscoverAllResourcesForResourceProfile`: what the launcher
//! allocated is in the resources file; what is asked for and not in it is found by a discovery script, or by plugins
//! (see [`super::discovery`]).

use std::collections::BTreeMap;

use serde::Deserialize;
use wire::messages::{ResourceInformation, ResourceProfile};

use super::discovery::Resources;
use super::error::ExecutorError;
use crate::config::SparkProperties;
use crate::config::declared::{self, EXECUTOR_COMPONENT};
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
) -> Result<Resources, ExecutorError> {
    let mut found = given(arguments)?;
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

/// Whether something is asked for that the launcher has not allocated.
///
/// # Errors
/// The resources file is missing or unreadable, or a setting is wrong.
pub(super) fn are_to_be_discovered(
    arguments: &ExecutorArguments,
    profile: &ResourceProfile,
    properties: &SparkProperties,
) -> Result<bool, ExecutorError> {
    let given = given(arguments)?;
    let requests = requests(profile, properties)?;
    Ok(requests.keys().any(|name| !given.contains_key(name)))
}

/// What the launcher allocated.
fn given(arguments: &ExecutorArguments) -> Result<Resources, ExecutorError> {
    let Some(file) = &arguments.resources_file else {
        return Ok(Resources::new());
    };
    let given = read_resources_file(file).map_err(|why| ExecutorError::Setting(why.to_string()))?;
    let named = given.into_iter().map(|resource| {
        let information = ResourceInformation {
            name: resource.name.clone(),
            addresses: resource.addresses,
        };
        (resource.name, information)
    });
    Ok(named.collect())
}

/// Resources in the form of a launcher's resources file.
pub(super) fn as_resources_file(resources: &Resources) -> String {
    let allocations = resources.values().map(|resource| {
        serde_json::json!({
            "id": {"componentName": EXECUTOR_COMPONENT, "resourceName": resource.name},
            "addresses": resource.addresses,
        })
    });
    serde_json::Value::from_iter(allocations).to_string()
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
    let keys: Vec<String> = properties.iter().map(|(key, _)| key.to_owned()).collect();
    for key in keys {
        let Some(name) = declared::RESOURCE_AMOUNT.member(&key) else {
            continue;
        };
        let amount = properties
            .number_of(&declared::RESOURCE_AMOUNT, name)
            .map_err(|why| ExecutorError::Setting(why.to_string()))?;
        let script = properties.get(declared::RESOURCE_DISCOVERY_SCRIPT.key(name));
        let script = script.unwrap_or_default();
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

    #[test]
    fn resources_go_to_the_jvm_in_a_file() {
        let gpu = ResourceInformation {
            name: "gpu".to_owned(),
            addresses: vec!["0".to_owned(), "\"1\"".to_owned()],
        };
        let resources = Resources::from_iter([(gpu.name.clone(), gpu)]);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), as_resources_file(&resources)).unwrap();
        let read = read_resources_file(file.path()).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].name, "gpu");
        assert_eq!(read[0].addresses, ["0", "\"1\""]);
    }

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
