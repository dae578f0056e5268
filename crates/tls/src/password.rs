//! Passwords of key stores.

use std::fmt;
use std::sync::Arc;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// A password. Clones share the memory, which is overwritten when the last of them is dropped; it is never printed.
#[derive(Clone)]
pub struct Password(Arc<Zeroizing<String>>);

impl Password {
    /// The password as it is set.
    pub fn new(text: String) -> Self {
        Self(Arc::new(Zeroizing::new(text)))
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The characters as Java hashes them: two bytes each.
    pub(crate) fn wide(&self) -> Zeroizing<Vec<u8>> {
        // Not moved to larger memory: nothing of it is left behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.0.len() * 2));
        bytes.extend(self.0.encode_utf16().flat_map(u16::to_be_bytes));
        bytes
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

impl PartialEq for Password {
    fn eq(&self, other: &Self) -> bool {
        self.text().as_bytes().ct_eq(other.text().as_bytes()).into()
    }
}

impl Eq for Password {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_not_printed() {
        let password = Password::new("äbc".to_owned());
        assert_eq!(format!("{password:?}"), "Password(..)");
        assert_eq!(password, Password::new("äbc".to_owned()));
        assert_ne!(password, Password::new("abc".to_owned()));
        assert_eq!(password.wide().as_slice(), [0, 0xe4, 0, b'b', 0, b'c']);
    }
}
