//! What `TextFileFormat` captured.

use javaser::Closure;

use super::records::separator;
use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::object::Reader;
use crate::plan::Broadcast;

/// Spark's class.
pub(super) const CLASS: &str = "sql.execution.datasources.text.TextFileFormat";

/// What `TextFileFormat` took from the session and from the options of the read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextOptions {
    /// Broadcast of the `SerializableConfiguration` for Hadoop.
    pub conf: Broadcast,
    /// `wholetext`: a file is one row.
    pub whole_text: bool,
    /// `lineSep` in the files' encoding, never empty. `None` is any of `\n`, `\r\n` and `\r`.
    pub line_separator: Option<Vec<u8>>,
}

/// The function that reads a file.
pub(super) fn read(reader: &Reader<'_>, function: &Closure) -> Result<TextOptions> {
    let function = match function.name() {
        (CLASS, "readToUnsafeMem") => function.clone(),
        // 4.3 chooses by the file's name between it and one for archives.
        (CLASS, "buildReader") => {
            let options = function.arg(reader, 0)?;
            if options.name() != "TextOptions" || options.bool("archiveFormatEnabled")? {
                return Err(Unsupported::of_use("files in archives"));
            }
            let readers = function.args.iter();
            let mut readers = readers.filter_map(|arg| Closure::read(reader.graph, *arg));
            let plain = readers.find(|reader| reader.name() == (CLASS, "readToUnsafeMem"));
            plain.ok_or_else(|| function.unsupported())?
        }
        _ => return Err(function.unsupported()),
    };
    let [conf, _, _required] = function.args.as_slice() else {
        return Err(function.unsupported());
    };
    let options = function.arg(reader, 1)?;
    if options.name() != "TextOptions" {
        return Err(Unsupported::Class(options.name().to_owned()));
    }
    // What else there is are options of writers, or what these were made of.
    options.only(&[
        "parameters",
        "compressionCodec",
        "wholeText",
        "encoding",
        "lineSeparator",
        "lineSeparatorInRead",
        "lineSeparatorInWrite",
    ])?;
    Ok(TextOptions {
        conf: super::read_broadcast(reader, *conf)?,
        whole_text: options.bool("wholeText")?,
        line_separator: separator(options, "lineSeparatorInRead")?,
    })
}
