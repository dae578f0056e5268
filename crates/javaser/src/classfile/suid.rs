//! Default `serialVersionUID` (Java Object Serialization Specification 4.6): the first eight bytes of a SHA-1 over the
//! class's name, modifiers, interfaces, fields, initializer, constructors and methods, little endian.

use sha1::{Digest, Sha1};

use super::{
    ACC_ABSTRACT, ACC_FINAL, ACC_INTERFACE, ACC_PRIVATE, ACC_PUBLIC, ACC_STATIC, ACC_TRANSIENT,
    ClassFile, Member,
};
use crate::mutf8;

/// public, final, interface, abstract
const CLASS_MASK: u16 = ACC_PUBLIC | ACC_FINAL | ACC_INTERFACE | ACC_ABSTRACT;
/// public, private, protected, static, final, volatile, transient
const FIELD_MASK: u16 = 0x00DF;
/// public, private, protected, static, final, synchronized, native, abstract, strictfp
const METHOD_MASK: u16 = 0x0D3F;

pub(super) fn compute(class: &ClassFile<'_>) -> i64 {
    let mut out = Output(Vec::with_capacity(1024));
    out.utf_dotted(class.name);
    let mut modifiers = class.modifiers & CLASS_MASK;
    if modifiers & ACC_INTERFACE != 0 {
        // Old compilers set "abstract" only for interfaces with methods.
        let has_methods = class.methods.iter().any(|m| !is_special(m));
        modifiers = if has_methods {
            modifiers | ACC_ABSTRACT
        } else {
            modifiers & !ACC_ABSTRACT
        };
    }
    out.int(modifiers);

    let mut interfaces = class.interfaces.clone();
    interfaces.sort_by_key(|name| dots(name));
    for name in interfaces {
        out.utf_dotted(name);
    }

    let mut fields: Vec<_> = class.fields.iter().collect();
    fields.sort_by_key(|f| f.name);
    for field in fields {
        if field.access & ACC_PRIVATE == 0 || field.access & (ACC_STATIC | ACC_TRANSIENT) == 0 {
            out.utf(field.name);
            out.int(field.access & FIELD_MASK);
            out.utf(field.descriptor);
        }
    }

    if class.methods.iter().any(|m| m.name == b"<clinit>") {
        out.utf(b"<clinit>");
        out.int(ACC_STATIC);
        out.utf(b"()V");
    }
    out.methods(class.methods.iter().filter(|m| m.name == b"<init>"));
    out.methods(class.methods.iter().filter(|m| !is_special(m)));
    out.hash()
}

pub(super) fn compute_array(name: &str, element_modifiers: u16) -> i64 {
    let mut out = Output(Vec::new());
    out.utf(&mutf8::encode(name));
    out.int((element_modifiers & ACC_PUBLIC) | ACC_FINAL | ACC_ABSTRACT);
    out.hash()
}

fn is_special(method: &Member<'_>) -> bool {
    matches!(method.name, b"<init>" | b"<clinit>")
}

fn dots(name: &[u8]) -> Vec<u8> {
    name.iter()
        .map(|&b| if b == b'/' { b'.' } else { b })
        .collect()
}

/// What `java.io.DataOutputStream` would write.
struct Output(Vec<u8>);

impl Output {
    fn int(&mut self, value: u16) {
        self.0.extend(u32::from(value).to_be_bytes());
    }

    fn utf(&mut self, modified_utf8: &[u8]) {
        // Constants of a class file have 65535 bytes at most.
        self.0.extend((modified_utf8.len() as u16).to_be_bytes());
        self.0.extend_from_slice(modified_utf8);
    }

    fn utf_dotted(&mut self, name: &[u8]) {
        self.utf(&dots(name));
    }

    fn methods<'a>(&mut self, methods: impl Iterator<Item = &'a Member<'a>>) {
        let mut methods: Vec<_> = methods.filter(|m| m.access & ACC_PRIVATE == 0).collect();
        methods.sort_by_key(|m| (m.name, m.descriptor));
        for method in methods {
            self.utf(method.name);
            self.int(method.access & METHOD_MASK);
            self.utf_dotted(method.descriptor);
        }
    }

    fn hash(self) -> i64 {
        let digest = Sha1::digest(&self.0);
        let first = digest.first_chunk::<8>().copied().unwrap_or_default();
        i64::from_le_bytes(first)
    }
}
