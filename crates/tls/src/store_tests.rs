use std::path::PathBuf;

use super::*;

fn fixture(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    dir.join(name)
}

fn passwords<'a>(store: Option<&'a Password>, key: Option<&'a Password>) -> Passwords<'a> {
    Passwords {
        store,
        key,
        keys: true,
    }
}

fn read(name: &str, passwords: Passwords<'_>) -> Result<Store, String> {
    Store::read(&read_file(&fixture(name)).unwrap(), passwords)
}

fn password(text: &str) -> Password {
    Password::new(text.to_owned())
}

/// What keytool of JDK 17 wrote, in either format, with its ciphers of today and of before.
#[test]
fn keys_of_keytool_are_read() {
    let (store, other) = (password("changeit"), password("another"));
    let (key, chain) = read("rsa.jks", passwords(Some(&store), Some(&other)))
        .and_then(Store::only_key)
        .unwrap();
    assert!(matches!(key, PrivateKeyDer::Pkcs8(_)));
    assert_eq!(chain.len(), 1);
    for name in ["ec.p12", "legacy.p12"] {
        let (_, chain) = read(name, passwords(Some(&store), None))
            .and_then(Store::only_key)
            .unwrap();
        assert_eq!(chain.len(), 1, "{name}");
        let same = passwords(Some(&store), Some(&store));
        assert!(read(name, same).is_ok());
    }
}

#[test]
fn trusted_certificates_are_those_put_in_and_those_of_keys() {
    let store = password("changeit");
    let without_keys = |name: &str, store: Option<&Password>| {
        let passwords = Passwords {
            store,
            key: None,
            keys: false,
        };
        read(name, passwords).unwrap().trusted()
    };
    let jks = without_keys("trust.jks", Some(&store));
    assert_eq!(jks.len(), 2);
    // Certificates in the old format are not hidden.
    assert_eq!(without_keys("trust.jks", None), jks);
    let mut pkcs12 = without_keys("trust.p12", Some(&store));
    pkcs12.sort_by(|one, two| one.as_ref().cmp(two.as_ref()));
    let mut own = without_keys("ec.p12", Some(&store));
    own.extend(without_keys("rsa.jks", Some(&store)));
    own.sort_by(|one, two| one.as_ref().cmp(two.as_ref()));
    assert_eq!(pkcs12, own);
}

#[test]
fn what_cannot_be_read_says_why_and_no_password() {
    let (store, wrong) = (password("changeit"), password("a-wrong-password"));
    let cases = [
        ("rsa.jks", Some(&wrong), None, "its password is another one"),
        (
            "rsa.jks",
            Some(&store),
            None,
            "the key 'rsa' cannot be read: its password is another one",
        ),
        ("rsa.jks", None, None, "there is no password for its key"),
        ("ec.p12", Some(&wrong), None, "its password is another one"),
        ("ec.p12", None, None, "there is no password for it"),
        (
            "ec.p12",
            Some(&store),
            Some(&wrong),
            "its key has another password than the store",
        ),
        (
            "two.p12",
            Some(&store),
            None,
            "it has several keys (ec, second): keep one in it",
        ),
        ("trust.p12", Some(&store), None, "it has no private key"),
        (
            "key.pem",
            Some(&store),
            None,
            "it is no key store in the format JKS or PKCS12",
        ),
    ];
    for (name, store, key, begin) in cases {
        let read = read(name, passwords(store, key)).and_then(Store::only_key);
        let why = read.map(|_| ()).unwrap_err();
        assert!(why.starts_with(begin), "{name}: {why}");
        assert!(!why.contains("a-wrong-password"));
    }
}

#[test]
fn a_store_that_was_cut_or_changed_is_refused() {
    let (store, other) = (password("changeit"), password("another"));
    let whole = read_file(&fixture("rsa.jks")).unwrap();
    let read =
        |bytes: &[u8], store: Option<&Password>| Store::read(bytes, passwords(store, Some(&other)));
    for cut in 0..whole.len() {
        assert!(read(&whole[..cut], Some(&store)).is_err());
        if cut > 4 {
            assert!(read(&whole[..cut], None).is_err());
        }
        let mut changed = whole.to_vec();
        changed[cut] ^= 1;
        assert!(read(&changed, Some(&store)).is_err());
    }
    // A number of entries that is not there takes no memory.
    let mut many = whole.to_vec();
    many[8..12].fill(0xff);
    assert_eq!(read(&many, None).unwrap_err(), "it ends too early");
}

#[test]
fn keys_in_pem_are_read_with_and_without_a_password() {
    let password = password("changeit");
    let plain = read_file(&fixture("key.pem")).unwrap();
    let plain = crate::pem::key(&plain, None).unwrap();
    let encrypted = read_file(&fixture("encrypted.pem")).unwrap();
    assert_eq!(crate::pem::key(&encrypted, Some(&password)).unwrap(), plain);
    let why = crate::pem::key(&encrypted, None).unwrap_err();
    assert_eq!(why, "its key is encrypted, and there is no password");
    let wrong = Password::new("wrong".to_owned());
    let why = crate::pem::key(&encrypted, Some(&wrong)).unwrap_err();
    assert!(why.starts_with("its key cannot be decrypted"), "{why}");
    let old = read_file(&fixture("encrypted-pbes1.pem")).unwrap();
    let why = crate::pem::key(&old, Some(&password)).unwrap_err();
    assert!(why.contains("openssl pkcs8 -topk8 -v2 aes256"), "{why}");
    let certificate = read_file(&fixture("cert.pem")).unwrap();
    assert!(crate::pem::key(&certificate, None).is_err());
    assert_eq!(crate::pem::certificates(&certificate).unwrap().len(), 1);
    assert!(crate::pem::certificates(&encrypted).is_err());
}
