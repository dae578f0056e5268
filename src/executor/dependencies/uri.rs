//! URIs of dependencies, read as `java.net.URI` reads them.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use crate::task::TaskError;

/// A URI of `addFile` or `addArchive`, in parts that are still encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Uri<'a> {
    /// Without the fragment: what is fetched.
    pub(super) target: &'a str,
    /// Before the first colon; `file` if there is none.
    pub(super) scheme: &'a str,
    path: &'a str,
    fragment: Option<&'a str>,
}

impl<'a> Uri<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let (target, fragment) = match text.split_once('#') {
            Some((target, fragment)) => (target, Some(fragment)),
            None => (text, None),
        };
        let (scheme, rest) = match target.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
            _ => ("file", target),
        };
        let path = match rest.strip_prefix("//") {
            Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or(""),
            None => rest,
        };
        let path = path.split('?').next().unwrap_or_default();
        Self {
            target,
            scheme,
            path,
            fragment,
        }
    }

    /// The decoded last part of the path: the name of the file in the working directory (`Utils.decodeFileNameInURI`).
    pub(super) fn file_name(&self) -> Result<String, TaskError> {
        let raw = self.path.trim_end_matches('/');
        let raw = raw.rsplit('/').next().unwrap_or_default();
        let name = decode(raw).filter(|name| is_plain_name(name));
        name.ok_or_else(|| TaskError::io(format!("{} names no file", self.target)))
    }

    /// Where an archive is unpacked, below the working directory: its alias, if it has one.
    pub(super) fn alias(&self) -> Result<Option<PathBuf>, TaskError> {
        let Some(fragment) = self.fragment else {
            return Ok(None);
        };
        let parts: Option<Vec<String>> = decode(fragment).map(|alias| {
            alias
                .split('/')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        });
        match parts {
            Some(parts) if !parts.is_empty() && parts.iter().all(|part| is_plain_name(part)) => {
                Ok(Some(parts.iter().collect()))
            }
            _ => Err(TaskError::BailOut(
                "archive with an alias that is no path below the working directory".to_owned(),
            )),
        }
    }

    /// The file that a `file:` or `local:` URI means.
    pub(super) fn local_path(&self) -> Result<PathBuf, TaskError> {
        decode(self.path)
            .filter(|path| !path.is_empty() && !path.contains('\0'))
            .map(PathBuf::from)
            .ok_or_else(|| TaskError::io(format!("{} names no file", self.target)))
    }
}

fn is_scheme(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn decode(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

/// True for the name of an entry of a directory. Session ids become names of directories too.
pub(super) fn is_plain_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0'])
}

/// `String.hashCode` of Java.
pub(super) fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| {
        hash.wrapping_mul(31).wrapping_add(unit.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_last_part_of_the_path_decoded() {
        for (uri, scheme, name) in [
            ("spark://h:1/files/a%20b%2B.txt", "spark", "a b+.txt"),
            (
                "https://h/x/env.tar.gz?token=a/b#env",
                "https",
                "env.tar.gz",
            ),
            ("hdfs://nn/dir/sub/", "hdfs", "sub"),
            ("file:/tmp/x.py", "file", "x.py"),
            ("/tmp/y.py", "file", "y.py"),
            ("s3a://bucket/%E2%82%AC.zip", "s3a", "\u{20ac}.zip"),
        ] {
            let parsed = Uri::parse(uri);
            assert_eq!(parsed.scheme, scheme, "{uri}");
            assert_eq!(parsed.file_name().unwrap(), name, "{uri}");
        }
        for uri in [
            "spark://h:1/files/a%2Fb",
            "spark://h:1/%2E%2E",
            "http://h",
            "file:/x%FF",
        ] {
            assert!(Uri::parse(uri).file_name().is_err(), "{uri}");
        }
    }

    #[test]
    fn an_alias_stays_below_the_working_directory() {
        let alias = |uri| Uri::parse(uri).alias();
        assert_eq!(alias("spark://h:1/files/e.zip"), Ok(None));
        assert_eq!(alias("spark://h:1/files/e.zip#env"), Ok(Some("env".into())));
        assert_eq!(alias("spark://h:1/e.zip#a%20b/c"), Ok(Some("a b/c".into())));
        for uri in [
            "x.zip#..",
            "x.zip#a/../../b",
            "x.zip#",
            "x.zip#.",
            "x.zip#/",
        ] {
            assert!(matches!(alias(uri), Err(TaskError::BailOut(_))), "{uri}");
        }
        // What stays below does so wherever the slash is.
        assert_eq!(alias("x.zip#/etc"), Ok(Some("etc".into())));
        assert_eq!(Uri::parse("e.zip#env").target, "e.zip");
    }

    #[test]
    fn local_files_are_decoded_paths() {
        let path = |uri| Uri::parse(uri).local_path().ok();
        assert_eq!(path("file:/a%20b/c"), Some("/a b/c".into()));
        assert_eq!(path("file:///a/c"), Some("/a/c".into()));
        assert_eq!(path("local:/opt/x.py"), Some("/opt/x.py".into()));
        assert_eq!(path("file:"), None);
    }

    #[test]
    fn hashes_are_javas() {
        assert_eq!(java_hash(""), 0);
        assert_eq!(java_hash("hello"), 99_162_322);
        assert_eq!(java_hash("spark://host:4040/files/x"), {
            // Wraps around.
            let mut hash = 0i32;
            for byte in b"spark://host:4040/files/x" {
                hash = hash.wrapping_mul(31).wrapping_add(i32::from(*byte));
            }
            hash
        });
    }
}
