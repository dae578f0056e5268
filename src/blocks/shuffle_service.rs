//! The external shuffle service of this host, which serves the executor's files when the executor is gone
//! (`BlockManager.registerWithExternalShuffleServer`).

use std::fmt::Display;
use std::time::Duration;

use super::BlockPlane;
use crate::config::{ShuffleServiceSettings, StorageSettings};

/// Pause between attempts.
const PAUSE: Duration = Duration::from_secs(5);

impl BlockPlane {
    /// Tells the service on this host where the executor keeps its files, as often as
    /// `spark.shuffle.registration.maxAttempts` allows. A second registration, such as that of the embedded JVM's block
    /// manager, replaces the first one by the same.
    ///
    /// # Errors
    /// Spark's text, when no attempt succeeded.
    pub async fn register_with_shuffle_service(
        &self,
        service: &ShuffleServiceSettings,
        storage: &StorageSettings,
    ) -> Result<(), String> {
        tracing::info!(target: "BlockManager", "external shuffle service port = {}", service.port);
        tracing::info!(target: "BlockManager", "Registering executor with local external shuffle service.");
        let sub_directories = i32::try_from(storage.sub_directories).unwrap_or(i32::MAX);
        attempts(service.registration_attempts, PAUSE, async || {
            self.fetcher
                .register_with_shuffle_server(
                    &self.env.block_manager_id.host,
                    service.port,
                    sub_directories,
                    &storage.shuffle_manager,
                    service.registration_timeout,
                )
                .await
        })
        .await
        .map_err(|error| {
            format!("Unable to register with external shuffle server due to : {error}")
        })
    }
}

async fn attempts<E: Display>(
    most: u32,
    pause: Duration,
    mut attempt: impl AsyncFnMut() -> Result<(), E>,
) -> Result<(), E> {
    let mut left = most;
    loop {
        left = left.saturating_sub(1);
        match attempt().await {
            Err(error) if left > 0 => {
                tracing::error!(
                    target: "BlockManager",
                    "Failed to connect to external shuffle server, will retry {left} more times after waiting {} seconds...: {error}",
                    pause.as_secs()
                );
                tokio::time::sleep(pause).await;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(most: u32, succeeds_at: u32) -> (Result<(), String>, u32) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let mut made = 0;
        let result = runtime.block_on(attempts(most, Duration::from_millis(1), async || {
            made += 1;
            match made == succeeds_at {
                true => Ok(()),
                false => Err(format!("failure {made}")),
            }
        }));
        (result, made)
    }

    #[test]
    fn registration_is_tried_as_often_as_it_may() {
        assert_eq!(run(3, 1), (Ok(()), 1));
        assert_eq!(run(3, 3), (Ok(()), 3));
        assert_eq!(run(3, 4), (Err("failure 3".to_owned()), 3));
        assert_eq!(run(1, 2), (Err("failure 1".to_owned()), 1));
    }
}
