//! Paths as Hadoop has them: a URI that is not percent-encoded.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

/// `org.apache.hadoop.fs.Path` with its file system: `hdfs://host:8020/a b`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FilePath {
    /// In small letters; `file` if the text has none.
    pub scheme: String,
    /// Between `//` and the next slash; a host and port, a bucket, a container and account.
    pub authority: String,
    /// From the first slash on.
    pub path: String,
}

impl FilePath {
    /// Reads what `Path.toString` wrote.
    pub fn parse(text: &str) -> Self {
        let (scheme, rest) = match text.split_once(':') {
            Some((scheme, rest)) if !scheme.contains('/') && !scheme.is_empty() => {
                (scheme.to_ascii_lowercase(), rest)
            }
            _ => ("file".to_owned(), text),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => ("", rest),
        };
        Self {
            scheme,
            authority: authority.to_owned(),
            path: normalized(path),
        }
    }

    /// Reads a URI, which is percent-encoded, as `new Path(new URI(text))` does. `None` if what it encodes is not
    /// UTF-8, or it has a query or fragment.
    pub fn of_uri(text: &str) -> Option<Self> {
        if text.contains(['?', '#']) {
            return None;
        }
        let raw = Self::parse(text);
        let path = percent_decode_str(&raw.path).decode_utf8().ok()?;
        Some(Self {
            path: path.into_owned(),
            ..raw
        })
    }

    /// As `Path.toUri` of a file system's own paths prints itself. `None` if it has characters that nobody has looked
    /// at.
    pub fn uri(&self) -> Option<String> {
        let mut text = format!("{}://{}", self.scheme, self.authority);
        for character in self.path.chars() {
            match character {
                // What `java.net.URI` lets stand in a path.
                'a'..='z' | 'A'..='Z' | '0'..='9' => text.push(character),
                _ if "_-!.~'()*:@&=+$,;/".contains(character) => text.push(character),
                '\0'..='\x7f' => text.push_str(&format!("%{:02X}", u32::from(character))),
                // Spaces and control characters are others yet.
                _ if character.is_alphanumeric() => text.push(character),
                _ => return None,
            }
        }
        Some(text)
    }

    /// A name below this one.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        Self {
            path: format!("{}/{name}", self.path.trim_end_matches('/')),
            ..self.clone()
        }
    }

    /// The last name of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Where a path of scheme `file` is on this machine.
    pub fn local(&self) -> PathBuf {
        PathBuf::from(&self.path)
    }
}

impl std::fmt::Display for FilePath {
    /// As Hadoop writes it: without `//` if there is no authority.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.authority.as_str() {
            "" => write!(f, "{}:{}", self.scheme, self.path),
            authority => write!(f, "{}://{authority}{}", self.scheme, self.path),
        }
    }
}

/// `Path.normalizePath`: one slash in the place of several, none at the end.
fn normalized(path: &str) -> String {
    let mut normal = String::with_capacity(path.len() + 1);
    for part in path.split('/').filter(|part| !part.is_empty()) {
        normal.push('/');
        normal.push_str(part);
    }
    if normal.is_empty() {
        normal.push('/');
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_not_percent_encoded_and_uris_are() {
        let path = FilePath::parse("hdfs://nn:8020/a%20b/c d");
        assert_eq!(path.scheme, "hdfs");
        assert_eq!(path.authority, "nn:8020");
        assert_eq!(path.path, "/a%20b/c d");
        assert_eq!(path.name(), "c d");
        assert_eq!(path.to_string(), "hdfs://nn:8020/a%20b/c d");
        assert_eq!(path.child("x").to_string(), "hdfs://nn:8020/a%20b/c d/x");
        let uri = FilePath::of_uri("s3a://b/a%20b//c/").unwrap();
        assert_eq!(uri.path, "/a b/c");
        assert_eq!(FilePath::of_uri("s3a://b/%ff"), None);
        assert_eq!(FilePath::of_uri("s3a://b/x?y"), None);
        let uri = |text| FilePath::parse(text).uri();
        let odd = "/p=a%2Fb/c d/é漢{x}?#[\"~+:,;@&!$'()*";
        let expected = "file:///p=a%252Fb/c%20d/é漢%7Bx%7D%3F%23%5B%22~+:,;@&!$'()*";
        assert_eq!(uri(odd).as_deref(), Some(expected));
        assert_eq!(uri("s3a://b/x y").as_deref(), Some("s3a://b/x%20y"));
        assert_eq!(FilePath::of_uri(expected).unwrap().path, odd);
        for unknown in ["/a\u{a0}b", "/a\u{85}", "/e\u{301}"] {
            assert_eq!(uri(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn local_paths_of_every_form() {
        for text in ["file:/tmp/x", "file:///tmp/x", "/tmp/x", "file:////tmp//x/"] {
            let path = FilePath::parse(text);
            assert_eq!(path.local(), PathBuf::from("/tmp/x"), "{text}");
            assert_eq!(path.to_string(), "file:/tmp/x");
        }
        assert_eq!(FilePath::parse("/a:b/c").local(), PathBuf::from("/a:b/c"));
        assert_eq!(FilePath::parse("HDFS://nn").to_string(), "hdfs://nn/");
    }
}
