//! Descriptors of the JDK's own classes, so that no JDK is needed to write a stream.
//!
//! All serializable classes of `java.base` and `java.sql` in JDK 17. `tools/JdkTable.java` makes the table.

use super::FieldDesc;

const TABLE: &str = include_str!("jdk.txt");

/// A class or interface of the table.
pub(crate) struct JdkClass<'a> {
    pub(crate) externalizable: bool,
    pub(crate) public: bool,
    /// `None` for interfaces.
    pub(crate) desc: Option<JdkDesc<'a>>,
}

pub(crate) struct JdkDesc<'a> {
    pub(crate) suid: i64,
    pub(crate) flags: u8,
    pub(crate) super_name: Option<&'a str>,
    pub(crate) fields: Vec<FieldDesc>,
}

/// Whether the class can only come from the JDK.
pub(crate) fn is_jdk(class: &str) -> bool {
    class.starts_with("java.")
}

/// Looks up a class by its dotted name; `None` if it is not serializable.
pub(crate) fn lookup(class: &str) -> Option<JdkClass<'static>> {
    let (mut low, mut high) = (0, TABLE.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let start = TABLE
            .get(low..middle)?
            .rfind('\n')
            .map_or(low, |i| low + i + 1);
        let line = TABLE.get(start..)?.lines().next()?;
        let name = line.split(' ').next()?;
        match name.cmp(class) {
            std::cmp::Ordering::Less => low = start + line.len() + 1,
            std::cmp::Ordering::Greater => high = start,
            std::cmp::Ordering::Equal => return parse(line),
        }
    }
    None
}

fn parse(line: &'static str) -> Option<JdkClass<'static>> {
    let mut words = line.split(' ').skip(1);
    let suid = match words.next()? {
        "i" => {
            return Some(JdkClass {
                externalizable: false,
                public: true,
                desc: None,
            });
        }
        "e" => {
            return Some(JdkClass {
                externalizable: true,
                public: true,
                desc: None,
            });
        }
        hex => u64::from_str_radix(hex, 16).ok()?.cast_signed(),
    };
    let flags = words.next()?;
    let public = !flags.ends_with('n');
    let flags: u8 = flags.trim_end_matches('n').parse().ok()?;
    let super_name = words.next().filter(|s| *s != "-");
    let fields = words
        .filter_map(|w| w.split_once(':'))
        .map(|(name, signature)| FieldDesc {
            name: name.to_owned(),
            signature: signature.to_owned(),
        });
    let desc = JdkDesc {
        suid,
        flags,
        super_name,
        fields: fields.collect(),
    };
    Some(JdkClass {
        externalizable: flags & crate::stream::SC_EXTERNALIZABLE != 0,
        public,
        desc: Some(desc),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_found_by_its_name() {
        for line in TABLE.lines() {
            let name = line.split(' ').next().unwrap();
            assert!(lookup(name).is_some(), "{name}");
            assert!(
                lookup(&format!("{name}x")).is_none() || TABLE.contains(&format!("\n{name}x ")),
                "{name}x"
            );
        }
        assert!(lookup("").is_none());
        assert!(lookup("zzz").is_none());
    }

    #[test]
    fn a_line_says_what_the_jdk_says() {
        let integer = lookup("java.lang.Integer").unwrap().desc.unwrap();
        assert_eq!(integer.suid, 1_360_826_667_806_852_920);
        assert_eq!(integer.flags, 2);
        assert_eq!(integer.super_name, Some("java.lang.Number"));
        assert_eq!(
            integer.fields,
            [FieldDesc {
                name: "value".into(),
                signature: "I".into()
            }]
        );
        assert!(lookup("java.io.Externalizable").unwrap().externalizable);
    }
}
