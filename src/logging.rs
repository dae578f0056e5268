//! Log lines in Spark's own format on stderr, where Spark's logs go.
//!
//! The default format is the one of Spark's `log4j2-defaults.properties`: `26/11/21 06:47:00 INFO Target: message`.
//! `FIRESTEEL_LOG` filters (the syntax of `tracing_subscriber::EnvFilter`, for example `debug` or
//! `info,BlockServer=trace`), `FIRESTEEL_LOG_FORMAT=json` gives one JSON object a line. Targets are Spark's class names
//! where a line is Spark's own, so that existing log searches go on working.

use std::fmt;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;
use wire::printable::write_shown;

/// Changes the level of a running logger, as `spark.log.level` and `UpdateExecutorLogLevel` ask.
pub struct LevelHandle(Box<dyn Fn(EnvFilter) + Send + Sync>);

impl fmt::Debug for LevelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LevelHandle")
    }
}

impl LevelHandle {
    /// A handle that changes nothing, for embedding programs that own the logging.
    pub fn inert() -> Self {
        Self(Box::new(|_| ()))
    }

    /// Sets the level from a log4j level name (`ALL`, `DEBUG`, `ERROR`, `FATAL`, `INFO`, `OFF`, `TRACE`, `WARN`);
    /// unknown names change nothing.
    pub fn set_log4j_level(&self, level: &str) -> bool {
        let Some(filter) = filter_of_log4j(level) else {
            return false;
        };
        (self.0)(EnvFilter::new(filter));
        true
    }
}

fn filter_of_log4j(level: &str) -> Option<&'static str> {
    Some(match level.to_ascii_uppercase().as_str() {
        "ALL" | "TRACE" => "trace",
        "DEBUG" => "debug",
        "INFO" => "info",
        "WARN" => "warn",
        "ERROR" | "FATAL" => "error",
        "OFF" => "off",
        _ => return None,
    })
}

/// Installs the process-wide logger. Called once, by `main`; a second call keeps the first logger and returns an inert
/// handle.
pub fn init() -> LevelHandle {
    let filter = match std::env::var("FIRESTEEL_LOG") {
        Ok(spec) => EnvFilter::new(spec),
        Err(_) => EnvFilter::new("info"),
    };
    let (filter, handle) = reload::Layer::new(filter);
    let json = std::env::var("FIRESTEEL_LOG_FORMAT").is_ok_and(|f| f.eq_ignore_ascii_case("json"));
    let registry = tracing_subscriber::registry().with(filter);
    let installed = if json {
        registry
            .with(
                tracing_subscriber::fmt::layer()
                    .json()
                    .with_writer(std::io::stderr),
            )
            .try_init()
    } else {
        registry
            .with(
                tracing_subscriber::fmt::layer()
                    .event_format(SparkFormat)
                    .with_writer(std::io::stderr),
            )
            .try_init()
    };
    match installed {
        Ok(()) => LevelHandle(Box::new(move |filter| {
            // The only failure is a dropped subscriber, which lives as long as the process.
            let _ = handle.reload(filter);
        })),
        Err(_) => LevelHandle::inert(),
    }
}

struct SparkFormat;

impl<S, N> FormatEvent<S, N> for SparkFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        ctx: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let meta = event.metadata();
        let level = match *meta.level() {
            Level::ERROR => "ERROR",
            Level::WARN => "WARN",
            Level::INFO => "INFO",
            Level::DEBUG => "DEBUG",
            Level::TRACE => "TRACE",
        };
        let target = meta.target().rsplit("::").next().unwrap_or_default();
        write!(
            writer,
            "{} {level} {target}: ",
            chrono::Local::now().format("%y/%m/%d %H:%M:%S")
        )?;
        let mut text = String::new();
        ctx.field_format()
            .format_fields(Writer::new(&mut text), event)?;
        write_harmless(&mut writer, &text)?;
        writeln!(writer)
    }
}

/// Writes what others may have written: a message can neither command a terminal nor look like several. Its further
/// lines (of stack traces, for example) begin with white space.
fn write_harmless(out: &mut impl fmt::Write, text: &str) -> fmt::Result {
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\n' => {
                out.write_char('\n')?;
                if characters
                    .peek()
                    .is_some_and(|next| !matches!(next, ' ' | '\t' | '\n'))
                {
                    out.write_char('\t')?;
                }
            }
            '\t' => out.write_char('\t')?,
            c => write_shown(out, c)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(buf);
            Ok(buf.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_reads_like_sparks() {
        let sink = Sink::default();
        let writer = sink.clone();
        let subscriber = tracing_subscriber::registry().with(
            tracing_subscriber::fmt::layer()
                .event_format(SparkFormat)
                .with_writer(move || writer.clone()),
        );
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "CoarseGrainedExecutorBackend", "Got assigned task {}", 3);
        });
        let line = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        let (stamp, rest) = line.split_at(17);
        assert_eq!(
            rest,
            " INFO CoarseGrainedExecutorBackend: Got assigned task 3\n"
        );
        assert!(
            chrono::NaiveDateTime::parse_from_str(stamp, "%y/%m/%d %H:%M:%S").is_ok(),
            "{stamp}"
        );
    }

    #[test]
    fn nobody_else_begins_a_line_or_commands_a_terminal() {
        let mut out = String::new();
        let text = "a\r\n26/01/01 00:00:00 INFO X: b\n\tat c\n\n d\u{1b}[2J\u{202e}\u{9b}";
        write_harmless(&mut out, text).unwrap();
        assert_eq!(
            out,
            "a\\r\n\t26/01/01 00:00:00 INFO X: b\n\tat c\n\n d\\u{1b}[2J\\u{202e}\\u{9b}"
        );
    }

    #[test]
    fn log4j_levels_are_known_by_name() {
        assert_eq!(filter_of_log4j("warn"), Some("warn"));
        assert_eq!(filter_of_log4j("FATAL"), Some("error"));
        assert_eq!(filter_of_log4j("LOUD"), None);
    }
}
