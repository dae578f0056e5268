//! Custom resources that plugins find (`spark.resources.discoveryPlugin`): Java classes, which need a JVM before the
//! executor can register.
//!
//! Spark's backend in the embedded JVM looks for resources before it registers. The JVM is created first; what its
//! `RegisterExecutor` names is what the executor registers with. The JVM waits for its answer until that is done, and
//! becomes the executor's.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use indexmap::IndexMap;
use javaser::Catalog;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tracing::{info, warn};
use wire::envelope::RequestEnvelope;
use wire::messages::{RegisterExecutor, ResourceInformation, reply};

use super::events::JvmMessage;
use super::jvm_host::Host;
use super::jvm_messages::classify;
use super::registered::RegisteredExecutor;
use crate::blocks::LocalDirs;
use crate::config::{SparkProperties, declared};
use crate::task::jvm::{AfterExit, Bootstrap, Jvm, JvmBlock, JvmHost};

/// The plugin that Spark always has: it runs discovery scripts, which needs no JVM.
const SCRIPTS: &str = "org.apache.spark.resource.ResourceDiscoveryScriptPlugin";

/// Resources by name.
pub(super) type Resources = IndexMap<String, ResourceInformation>;

/// The setting and its value if it names plugins other than Spark's own.
pub(super) fn plugins(properties: &SparkProperties) -> Option<String> {
    let setting = &declared::DISCOVERY_PLUGIN;
    let named = properties.list(setting);
    named
        .iter()
        .any(|class| class != SCRIPTS)
        .then(|| format!("{}={}", setting.key, named.join(",")))
}

/// A JVM that was created before the executor was registered.
pub(super) struct EarlyJvm {
    host: Arc<EarlyHost>,
}

/// Whom the JVM talks to.
enum Partner {
    /// Nobody yet: what it said, and the ids of its questions.
    Waiting(Vec<(Bytes, Option<i64>)>),
    /// The executor.
    Executor(Host),
}

struct EarlyHost {
    bootstrap: Bootstrap,
    catalog: Arc<Catalog>,
    local_dirs: Arc<LocalDirs>,
    own_process: bool,
    lane: OnceLock<Arc<dyn Jvm>>,
    found: Mutex<Option<oneshot::Sender<Result<Resources, String>>>>,
    partner: Mutex<Partner>,
}

impl EarlyJvm {
    /// Creates a JVM by `start` and waits for what its plugins find.
    ///
    /// # Errors
    /// The JVM or Spark's backend in it does not start, or a resource is not found.
    pub(super) async fn discover(
        bootstrap: Bootstrap,
        catalog: Arc<Catalog>,
        local_dirs: Arc<LocalDirs>,
        own_process: bool,
        start: impl FnOnce(Arc<dyn JvmHost>) -> Result<Arc<dyn Jvm>, String>,
    ) -> Result<(Self, Resources), String> {
        let (sender, found) = oneshot::channel();
        let host = Arc::new(EarlyHost {
            bootstrap,
            catalog,
            local_dirs,
            own_process,
            lane: OnceLock::new(),
            found: Mutex::new(Some(sender)),
            partner: Mutex::new(Partner::Waiting(Vec::new())),
        });
        // Only set here.
        let _ = host.lane.set(start(Arc::clone(&host) as _)?);
        match found.await {
            Ok(found) => Ok((Self { host }, found?)),
            Err(_) => Err("the JVM ended".to_owned()),
        }
    }

    /// Makes it the executor's JVM, which hears all that was said so far.
    pub(super) fn hand_over(self, executor: &Arc<RegisteredExecutor>) {
        let mut partner = self.host.partner.lock();
        // Before anything can be answered; the state machine asks for one JVM.
        executor.jvm.created(Arc::clone(self.host.lane.wait()));
        let host = Host(Arc::clone(executor));
        let said = std::mem::replace(&mut *partner, Partner::Waiting(Vec::new()));
        if let Partner::Waiting(said) = said {
            for (envelope, id) in said {
                match id {
                    Some(id) => host.ask(id, envelope.into()),
                    None => host.tell(envelope.into()),
                }
            }
        }
        *partner = Partner::Executor(host);
    }
}

impl EarlyHost {
    fn found(&self, resources: Result<Resources, String>) {
        if let Some(sender) = self.found.lock().take() {
            // The executor may have given up.
            let _ = sender.send(resources);
        }
    }

    /// Runs `call` with the executor, if there is one.
    fn with<T>(&self, call: impl FnOnce(&Host) -> T) -> Option<T> {
        let host = match &*self.partner.lock() {
            Partner::Executor(host) => Host(Arc::clone(&host.0)),
            Partner::Waiting(_) => return None,
        };
        Some(call(&host))
    }

    fn answer_true(&self, id: i64) {
        match reply::boolean(true, &self.catalog) {
            Ok(answer) => self.lane.wait().ask_reply(id, answer.into()),
            Err(error) => self.lane.wait().ask_failure(id, &error.to_string()),
        }
    }

    /// The resources in a `RegisterExecutor`.
    fn registered(&self, envelope: &Bytes) {
        let resources = RequestEnvelope::read(envelope)
            .and_then(|request| RegisterExecutor::decode(&request.content))
            .map(|message| message.resources)
            .map_err(|error| error.to_string());
        if let Ok(resources) = &resources {
            for resource in resources.values() {
                let addresses = resource.addresses.join(", ");
                info!(target: "ResourceUtils", "{}: [{addresses}]", resource.name);
            }
        }
        self.found(resources);
    }
}

const NO_EXECUTOR: &str = "the executor has not been registered yet";

impl JvmHost for EarlyHost {
    fn tell(&self, envelope: Vec<u8>) {
        let host = match &mut *self.partner.lock() {
            Partner::Executor(host) => Host(Arc::clone(&host.0)),
            Partner::Waiting(said) => return said.push((envelope.into(), None)),
        };
        host.tell(envelope);
    }

    fn ask(&self, id: i64, envelope: Vec<u8>) {
        let host = match &mut *self.partner.lock() {
            Partner::Executor(host) => Host(Arc::clone(&host.0)),
            Partner::Waiting(said) => {
                let envelope = Bytes::from(envelope);
                match classify(&envelope) {
                    // Asked before resources are looked for.
                    JvmMessage::CheckKnownEndpoint => return self.answer_true(id),
                    JvmMessage::RegisterExecutor => self.registered(&envelope),
                    _ => {}
                }
                said.push((envelope, Some(id)));
                return;
            }
        };
        host.ask(id, envelope);
    }

    fn reply(&self, request_id: i64, content: Result<Vec<u8>, String>) {
        self.with(|host| host.reply(request_id, content));
    }

    fn block(&self, request_id: i64, body: JvmBlock) {
        self.with(|host| host.block(request_id, body));
    }

    fn uploaded(&self, request_id: i64, result: Result<Vec<u8>, String>) {
        self.with(|host| host.uploaded(request_id, result));
    }

    fn open_stream(&self, uri: &str) -> Result<i64, String> {
        self.with(|host| host.open_stream(uri))
            .unwrap_or_else(|| Err(NO_EXECUTOR.to_owned()))
    }

    fn read_stream(&self, handle: i64, buf: &mut [u8]) -> Result<usize, String> {
        self.with(|host| host.read_stream(handle, buf))
            .unwrap_or_else(|| Err(NO_EXECUTOR.to_owned()))
    }

    fn close_stream(&self, handle: i64) {
        self.with(|host| host.close_stream(handle));
    }

    fn next_rows(&self, id: i64) -> Option<Vec<u8>> {
        self.with(|host| host.next_rows(id)).flatten()
    }

    fn rows_done(&self, id: i64, result: Result<Vec<u8>, String>) {
        self.with(|host| host.rows_done(id, result));
    }

    fn evaluator_ended(&self, id: i64, failure: Option<String>) {
        self.with(|host| host.evaluator_ended(id, failure));
    }

    fn bootstrap(&self) -> Bootstrap {
        self.bootstrap.clone()
    }

    fn started(&self) {
        self.with(JvmHost::started);
    }

    fn failed(&self, message: String) {
        let host = match &*self.partner.lock() {
            Partner::Executor(host) => Host(Arc::clone(&host.0)),
            Partner::Waiting(_) => return self.found(Err(message)),
        };
        host.failed(message);
    }

    fn shutting_down(&self) {
        self.with(JvmHost::shutting_down);
    }

    fn exiting(&self, code: i32) -> AfterExit {
        if let Some(after) = self.with(|host| host.exiting(code)) {
            return after;
        }
        warn!(target: "Firesteel", "The embedded JVM exits with {code} before the executor has been registered");
        self.local_dirs.remove();
        if self.own_process {
            return AfterExit::EndProcess;
        }
        self.found(Err(format!("the JVM exits with {code}")));
        AfterExit::StopJvm
    }

    fn aborting(&self) {
        if self.with(JvmHost::aborting).is_none() {
            self.local_dirs.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_other_plugins_than_spark_s_own_need_a_jvm() {
        let named = |value: &'static str| {
            plugins(&SparkProperties::from_launch(
                [(declared::DISCOVERY_PLUGIN.key, value)],
                [],
            ))
        };
        assert_eq!(plugins(&SparkProperties::default()), None);
        assert_eq!(named(""), None);
        assert_eq!(named(SCRIPTS), None);
        let value = format!("{}=a.B,{SCRIPTS}", declared::DISCOVERY_PLUGIN.key);
        let both = "a.B, org.apache.spark.resource.ResourceDiscoveryScriptPlugin";
        assert_eq!(named(both), Some(value));
    }
}
