//! Numbers and texts as Hadoop's `WritableUtils` and `Text` write them.

/// `WritableUtils.readVLong`: small numbers are one byte, others are a length and sign, then big-endian bytes. Gives
/// the number and what follows it.
pub fn read_vlong(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let first = i8::from_be_bytes([first]);
    if first >= -112 {
        return Some((first.into(), rest));
    }
    let (negative, count) = if first < -120 {
        (true, -120 - i32::from(first))
    } else {
        (false, -112 - i32::from(first))
    };
    let (digits, rest) = rest.split_at_checked(usize::try_from(count).ok()?)?;
    let value = digits
        .iter()
        .fold(0_i64, |value, byte| (value << 8) | i64::from(*byte));
    Some((if negative { !value } else { value }, rest))
}

/// `Text.readString`: the text and what follows it. What is not UTF-8 becomes U+FFFD.
pub(super) fn read_text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (length, rest) = read_vlong(bytes)?;
    let (text, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((String::from_utf8_lossy(text).into_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width() {
        assert_eq!(read_vlong(&[26, 9]), Some((26, &[9][..])));
        assert_eq!(read_vlong(&[0x90]), Some((-112, &[][..])));
        // -113: one byte follows.
        assert_eq!(read_vlong(&[0x8f, 200]), Some((200, &[][..])));
        assert_eq!(read_vlong(&[0x8e, 1, 0]), Some((256, &[][..])));
        assert_eq!(read_vlong(&[0x87, 200]), Some((!200, &[][..])));
        assert_eq!(read_vlong(&[0x8e, 1]), None);
    }
}
