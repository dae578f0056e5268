//! JSON of plans, which is nested as deep as the plans are: taken apart, so that no parser has to go down as deep.

/// Operators of a plan that are looked at.
const MAX_PIECES: usize = 100_000;
/// The key of the operators below an operator.
const KEY: &[u8] = b"\"children\":";

/// JSON of which all objects in lists called `children` were cut out; their places are in the lists.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pieces {
    pub(crate) root: Vec<u8>,
    /// What was cut out, each before what it was cut out of.
    pub(crate) cut: Vec<Vec<u8>>,
}

/// Why there are none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The brackets are wrong, or something else than objects is in a list.
    Malformed,
    TooMany,
}

/// An object that is not closed yet.
#[derive(Default)]
struct Piece {
    text: Vec<u8>,
    /// Brackets that are open in it.
    level: usize,
    /// How many are in a list of what is cut out.
    list: Option<usize>,
}

/// Takes JSON apart.
pub(crate) fn cut_out(json: &[u8]) -> Result<Pieces, Problem> {
    let mut cut = Vec::new();
    let mut above: Vec<Piece> = Vec::new();
    let mut piece = Piece::default();
    let (mut in_text, mut escaped) = (false, false);
    for byte in json {
        if in_text {
            piece.text.push(*byte);
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        let in_list = piece.list == Some(piece.level);
        match byte {
            b'{' if in_list => {
                above.push(std::mem::take(&mut piece));
                piece.level = 1;
            }
            b'{' => piece.level += 1,
            b'[' if !in_list => {
                piece.level += 1;
                if piece.list.is_none() && piece.text.trim_ascii_end().ends_with(KEY) {
                    piece.list = Some(piece.level);
                }
            }
            b']' => {
                if in_list {
                    piece.list = None;
                }
                piece.level = piece.level.checked_sub(1).ok_or(Problem::Malformed)?;
            }
            b'}' if !in_list => {
                piece.level = piece.level.checked_sub(1).ok_or(Problem::Malformed)?
            }
            b',' | b' ' | b'\t' | b'\r' | b'\n' => {}
            // Numbers in such a list would be taken for places.
            _ if in_list => return Err(Problem::Malformed),
            b'"' => in_text = true,
            _ => {}
        }
        piece.text.push(*byte);
        if piece.level == 0
            && *byte == b'}'
            && let Some(outer) = above.pop()
        {
            let inner = std::mem::replace(&mut piece, outer);
            piece
                .text
                .extend_from_slice(cut.len().to_string().as_bytes());
            cut.push(inner.text);
            if cut.len() > MAX_PIECES {
                return Err(Problem::TooMany);
            }
        }
    }
    match above.is_empty() {
        true => Ok(Pieces {
            root: piece.text,
            cut,
        }),
        false => Err(Problem::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(json: &str) -> (String, Vec<String>) {
        let pieces = cut_out(json.as_bytes()).unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            text(pieces.root),
            pieces.cut.into_iter().map(text).collect(),
        )
    }

    #[test]
    fn what_is_below_is_cut_out_first() {
        let json = r#"{"plan":{"n":"a","children":[{"n":"b","children":[{"n":"}]"}],"m":[{"x":[1]}]},{"n":"c","children":[]}]},"e":1}"#;
        let (root, cut) = pieces(json);
        assert_eq!(root, r#"{"plan":{"n":"a","children":[1,2]},"e":1}"#);
        assert_eq!(
            cut,
            [
                r#"{"n":"}]"}"#,
                r#"{"n":"b","children":[0],"m":[{"x":[1]}]}"#,
                r#"{"n":"c","children":[]}"#
            ]
        );
        assert_eq!(pieces(r#"{"a":"\"children\":[{}]"}"#).1.len(), 0);
    }

    #[test]
    fn depth_does_not_matter() {
        let depth = 50_000;
        let json = [
            r#"{"children":["#.repeat(depth),
            "{}".to_owned(),
            "]}".repeat(depth),
        ]
        .concat();
        assert_eq!(pieces(&json).1.len(), depth);
    }

    #[test]
    fn other_things_in_lists_are_refused() {
        for json in [
            r#"{"children":[0]}"#,
            r#"{"children":["a"]}"#,
            r#"{"children":[[{}]]}"#,
            r#"{"children":[{"#,
            "]",
            r#"{"children":[}"#,
        ] {
            assert_eq!(cut_out(json.as_bytes()), Err(Problem::Malformed), "{json}");
        }
        let many = format!(r#"{{"children":[{}{{}}]}}"#, "{},".repeat(MAX_PIECES));
        assert_eq!(cut_out(many.as_bytes()), Err(Problem::TooMany));
    }
}
