//! The secret of an application.

use std::fmt;
use std::sync::Arc;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The secret that all processes of an application share. Clones share the memory, which is overwritten when the last
/// of them is dropped; it is never printed.
#[derive(Clone)]
pub struct Secret {
    text: Arc<Zeroizing<String>>,
}

impl Secret {
    /// The secret as Spark writes it in settings.
    pub fn new(text: String) -> Self {
        Self {
            text: Arc::new(Zeroizing::new(text)),
        }
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.bytes().ct_eq(other.bytes()).into()
    }
}

impl Eq for Secret {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_not_printed() {
        let secret = Secret::new("abcdef".to_owned());
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        assert_eq!(secret, Secret::new("abcdef".to_owned()));
        assert_ne!(secret, Secret::new("abcdeg".to_owned()));
    }
}
