use crate::stream::*;

/// Java class of a stream's first object, read from its first bytes: for a Scala 2.13 `object` the module class inside
/// its `ModuleSerializationProxy`. `None` for `null`, for block data and for anything that is no stream.
#[must_use]
pub fn peek_class(bytes: &[u8]) -> Option<&str> {
    let (&code, rest) = bytes.strip_prefix(&HEADER)?.split_first()?;
    match code {
        TC_STRING | TC_LONGSTRING => Some("java.lang.String"),
        TC_CLASS => Some("java.lang.Class"),
        TC_OBJECT | TC_ARRAY | TC_ENUM => {
            let (name, behind) = class_name(rest)?;
            if name != "scala.runtime.ModuleSerializationProxy" {
                return Some(name);
            }
            // SUID, flags, one field `moduleClass` of type Class, no annotations, no super class, then the class.
            let fields = behind.get(8 + 1..)?.strip_prefix(&[0, 1, b'L'])?;
            let (_, fields) = utf(fields)?;
            let (_, fields) = utf(fields.strip_prefix(&[TC_STRING])?)?;
            let module = fields.strip_prefix(&[TC_ENDBLOCKDATA, TC_NULL, TC_CLASS])?;
            class_name(module).map(|(name, _)| name)
        }
        _ => None,
    }
}

fn class_name(desc: &[u8]) -> Option<(&str, &[u8])> {
    utf(desc.strip_prefix(&[TC_CLASSDESC])?)
}

fn utf(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
    Some((std::str::from_utf8(text).ok()?, rest))
}
