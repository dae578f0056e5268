//! Class files, as far as serialization needs them (Java Virtual Machine Specification, chapter 4).

mod suid;

use crate::mutf8;

pub(crate) const ACC_PUBLIC: u16 = 0x0001;
pub(crate) const ACC_PRIVATE: u16 = 0x0002;
pub(crate) const ACC_STATIC: u16 = 0x0008;
pub(crate) const ACC_FINAL: u16 = 0x0010;
pub(crate) const ACC_TRANSIENT: u16 = 0x0080;
pub(crate) const ACC_INTERFACE: u16 = 0x0200;
pub(crate) const ACC_ABSTRACT: u16 = 0x0400;

/// The file is no class file, or is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a class file: {0}")]
pub struct ClassFileError(pub(crate) &'static str);

const CUT: ClassFileError = ClassFileError("it ends too early");

/// A parsed class file. Names are in the file's form: modified UTF-8 with slashes.
#[derive(Debug)]
pub struct ClassFile<'a> {
    /// `Class.getModifiers`: for nested classes those of the `InnerClasses` attribute.
    pub(crate) modifiers: u16,
    pub(crate) name: &'a [u8],
    pub(crate) super_name: Option<&'a [u8]>,
    pub(crate) interfaces: Vec<&'a [u8]>,
    pub(crate) fields: Vec<Member<'a>>,
    pub(crate) methods: Vec<Member<'a>>,
    pub(crate) is_record: bool,
}

/// Field or method.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<'a> {
    pub(crate) access: u16,
    pub(crate) name: &'a [u8],
    pub(crate) descriptor: &'a [u8],
    /// Integer of the `ConstantValue` attribute.
    pub(crate) constant: Option<i64>,
}

/// Dotted form of a class name.
pub(crate) fn dotted(name: &[u8]) -> String {
    mutf8::decode_lossy(name).replace('/', ".")
}

impl<'a> ClassFile<'a> {
    /// Parses a class file; attributes that do not matter for serialization are skipped.
    ///
    /// # Errors
    /// [`ClassFileError`] for anything that is not one.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ClassFileError> {
        let mut r = Reader { rest: bytes };
        if r.u32()? != 0xCAFE_BABE {
            return Err(ClassFileError("wrong magic number"));
        }
        r.u32()?;
        let pool = Pool::parse(&mut r)?;
        let access = r.u16()?;
        let name = pool
            .class(r.u16()?)
            .ok_or(ClassFileError("no class name"))?;
        let super_name = pool.class(r.u16()?);
        let mut interfaces = Vec::new();
        for _ in 0..r.u16()? {
            interfaces.push(
                pool.class(r.u16()?)
                    .ok_or(ClassFileError("bad interface"))?,
            );
        }
        let fields = members(&mut r, &pool)?;
        let methods = members(&mut r, &pool)?;
        let mut modifiers = access;
        let mut is_record = false;
        for _ in 0..r.u16()? {
            let (attribute, mut body) = attribute(&mut r, &pool)?;
            match attribute {
                b"InnerClasses" => {
                    for _ in 0..body.u16()? {
                        let inner = pool.class(body.u16()?);
                        body.u32()?;
                        let flags = body.u16()?;
                        if inner == Some(name) {
                            modifiers = flags;
                        }
                    }
                }
                b"Record" => is_record = super_name == Some(b"java/lang/Record".as_slice()),
                _ => {}
            }
        }
        Ok(Self {
            modifiers,
            name,
            super_name,
            interfaces,
            fields,
            methods,
            is_record,
        })
    }

    /// Name of the class with dots.
    #[must_use]
    pub fn name(&self) -> String {
        dotted(self.name)
    }

    /// The declared constant `serialVersionUID`, or the computed one.
    ///
    /// # Errors
    /// [`ClassFileError`] if it is declared but its value is only known to the class initializer.
    pub fn serial_version_uid(&self) -> Result<i64, ClassFileError> {
        let declared = self.fields.iter().find(|f| {
            f.name == b"serialVersionUID"
                && f.access & (ACC_STATIC | ACC_FINAL) == ACC_STATIC | ACC_FINAL
        });
        match declared.filter(|f| matches!(f.descriptor, b"J" | b"I" | b"S" | b"C" | b"B")) {
            Some(field) => field
                .constant
                .ok_or(ClassFileError("serialVersionUID is not a constant")),
            None if self.is_record => Ok(0),
            None => Ok(suid::compute(self)),
        }
    }

    /// Name and signature of the fields that default serialization writes: primitives first, each group by name.
    #[must_use]
    pub fn serial_fields(&self) -> Vec<(String, String)> {
        let mut fields: Vec<_> = self
            .fields
            .iter()
            .filter(|f| f.access & (ACC_STATIC | ACC_TRANSIENT) == 0)
            .collect();
        fields.sort_by_key(|f| (matches!(f.descriptor.first(), Some(b'L' | b'[')), f.name));
        let text = |b| mutf8::decode_lossy(b).into_owned();
        fields
            .into_iter()
            .map(|f| (text(f.name), text(f.descriptor)))
            .collect()
    }

    /// Whether the class has the `writeObject` that serialization calls.
    #[must_use]
    pub fn has_write_object(&self) -> bool {
        !self.is_record
            && self.methods.iter().any(|m| {
                m.name == b"writeObject"
                    && m.descriptor == b"(Ljava/io/ObjectOutputStream;)V"
                    && m.access & (ACC_PRIVATE | ACC_STATIC) == ACC_PRIVATE
            })
    }

    /// The class lists its serial fields itself.
    pub(crate) fn has_persistent_fields(&self) -> bool {
        let wanted = ACC_PRIVATE | ACC_STATIC | ACC_FINAL;
        !self.is_record
            && self.fields.iter().any(|f| {
                f.name == b"serialPersistentFields"
                    && f.access & wanted == wanted
                    && f.descriptor == b"[Ljava/io/ObjectStreamField;"
            })
    }
}

/// `serialVersionUID` of the array class with this name, whose element class has these modifiers.
pub(crate) fn array_suid(name: &str, element_modifiers: u16) -> i64 {
    suid::compute_array(name, element_modifiers)
}

fn members<'a>(r: &mut Reader<'a>, pool: &Pool<'a>) -> Result<Vec<Member<'a>>, ClassFileError> {
    let count = r.u16()?;
    let mut members = Vec::with_capacity(usize::from(count).min(r.rest.len() / 8));
    for _ in 0..count {
        let access = r.u16()?;
        let name = pool
            .utf8(r.u16()?)
            .ok_or(ClassFileError("member without name"))?;
        let descriptor = pool
            .utf8(r.u16()?)
            .ok_or(ClassFileError("member without type"))?;
        let mut constant = None;
        for _ in 0..r.u16()? {
            let (attribute, mut body) = attribute(r, pool)?;
            if attribute == b"ConstantValue" {
                constant = pool.integer(body.u16()?);
            }
        }
        members.push(Member {
            access,
            name,
            descriptor,
            constant,
        });
    }
    Ok(members)
}

fn attribute<'a>(
    r: &mut Reader<'a>,
    pool: &Pool<'a>,
) -> Result<(&'a [u8], Reader<'a>), ClassFileError> {
    let name = pool
        .utf8(r.u16()?)
        .ok_or(ClassFileError("attribute without name"))?;
    let len = r.u32()? as usize;
    Ok((name, Reader { rest: r.take(len)? }))
}

/// Constant pool: offsets of the entries, so that what is never asked for costs nothing.
struct Pool<'a> {
    /// Tag and body of each entry.
    entries: Vec<(u8, &'a [u8])>,
}

impl<'a> Pool<'a> {
    fn parse(r: &mut Reader<'a>) -> Result<Self, ClassFileError> {
        let count = r.u16()?;
        let mut entries: Vec<(u8, &[u8])> =
            Vec::with_capacity(usize::from(count).min(r.rest.len() / 3 + 1));
        entries.push((0, &[]));
        while entries.len() < usize::from(count) {
            let tag = r.u8()?;
            let len = match tag {
                1 => r.u16()?.into(),
                7 | 8 | 16 | 19 | 20 => 2,
                15 => 3,
                3 | 4 | 9..=12 | 17 | 18 => 4,
                5 | 6 => 8,
                _ => return Err(ClassFileError("unknown constant pool tag")),
            };
            entries.push((tag, r.take(len)?));
            if matches!(tag, 5 | 6) {
                entries.push((0, &[]));
            }
        }
        Ok(Self { entries })
    }

    fn entry(&self, index: u16, tag: u8) -> Option<&'a [u8]> {
        self.entries
            .get(usize::from(index))
            .filter(|e| e.0 == tag)
            .map(|e| e.1)
    }

    fn utf8(&self, index: u16) -> Option<&'a [u8]> {
        self.entry(index, 1)
    }

    fn class(&self, index: u16) -> Option<&'a [u8]> {
        let name = self.entry(index, 7)?;
        self.utf8(u16::from_be_bytes(name.try_into().ok()?))
    }

    fn integer(&self, index: u16) -> Option<i64> {
        match self.entry(index, 5) {
            Some(long) => Some(i64::from_be_bytes(long.try_into().ok()?)),
            None => Some(i32::from_be_bytes(self.entry(index, 3)?.try_into().ok()?).into()),
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], ClassFileError> {
        let (head, tail) = self.rest.split_at_checked(len).ok_or(CUT)?;
        self.rest = tail;
        Ok(head)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], ClassFileError> {
        let (head, tail) = self.rest.split_first_chunk().ok_or(CUT)?;
        self.rest = tail;
        Ok(*head)
    }

    fn u8(&mut self) -> Result<u8, ClassFileError> {
        self.fixed().map(u8::from_be_bytes)
    }

    fn u16(&mut self) -> Result<u16, ClassFileError> {
        self.fixed().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, ClassFileError> {
        self.fixed().map(u32::from_be_bytes)
    }
}
