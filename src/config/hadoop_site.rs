//! Hadoop's configuration files: `core-site.xml` and the like.

/// Settings of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HadoopSite {
    /// Names and values, as they stand there; later ones win.
    pub settings: Vec<(String, String)>,
    /// The first element that is no property, such as `xi:include`: what it stands for is not known here.
    pub other_element: Option<String>,
}

impl HadoopSite {
    /// Reads a file's text.
    ///
    /// # Errors
    /// It is no XML.
    pub fn parse(text: &str) -> Result<Self, roxmltree::Error> {
        let document = roxmltree::Document::parse(text)?;
        let mut site = Self::default();
        for node in document
            .root_element()
            .children()
            .filter(roxmltree::Node::is_element)
        {
            if !node.has_tag_name("property") {
                site.other_element
                    .get_or_insert_with(|| node.tag_name().name().to_owned());
                continue;
            }
            // Since Hadoop 3 names and values may be attributes, too.
            let part = |tag: &str| {
                let child = node.children().find(|child| child.has_tag_name(tag));
                child
                    .map(|child| child.text().unwrap_or_default())
                    .or_else(|| node.attribute(tag))
            };
            if let (Some(key), Some(value)) = (part("name"), part("value")) {
                site.settings
                    .push((key.trim().to_owned(), value.to_owned()));
            }
        }
        Ok(site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_trimmed_and_values_are_not() {
        let text = "<configuration><property><name> a </name><value> b </value></property>\
                    <property name='c' value='d'/><property><name>e</name></property><xi/><other/></configuration>";
        let site = HadoopSite::parse(text).unwrap();
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(site.settings, [pair("a", " b "), pair("c", "d")]);
        assert_eq!(site.other_element.as_deref(), Some("xi"));
        assert!(HadoopSite::parse("<configuration>").is_err());
    }
}
