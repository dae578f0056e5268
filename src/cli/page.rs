//! Tables for a terminal and for pages of Markdown.

use clap::ValueEnum;

/// How a page is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Columns for a terminal.
    Text,
    /// Tables of Markdown, as in `docs`.
    Markdown,
}

/// A table with what is to be known about it.
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) note: &'static str,
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// The names of columns.
pub(super) fn header<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).into()
}

/// A page that begins with `intro`.
pub(super) fn markdown(intro: &str, sections: &[Section]) -> String {
    let mut out = intro.to_owned();
    let row = |cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    for section in sections {
        out += &format!("\n## {}\n\n", section.title);
        if !section.note.is_empty() {
            out += &format!("{}\n\n", section.note);
        }
        out += &row(&section.header);
        out += &row(&vec!["---".to_owned(); section.header.len()]);
        for cells in &section.rows {
            out += &row(cells);
        }
    }
    out
}

/// Columns as wide as their widest cell.
pub(super) fn text(sections: &[Section]) -> String {
    let mut out = String::new();
    for section in sections {
        out += &format!("{}\n", section.title);
        if !section.note.is_empty() {
            out += &format!("  {}\n", section.note);
        }
        let rows = || std::iter::once(&section.header).chain(&section.rows);
        let width = |column: usize| {
            let cells = rows().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            // More cannot be asked for when text is formatted.
            widest.min(usize::from(u16::MAX))
        };
        let widths: Vec<_> = (0..section.header.len()).map(width).collect();
        for row in rows() {
            let cells = row.iter().zip(&widths);
            let cells: Vec<_> = cells
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            out += &format!("  {}\n", cells.join("  ").trim_end());
        }
        out.push('\n');
    }
    out
}

/// Compares a page of `docs` with what is printed; `UPDATE_DOCS=1` writes the page anew.
#[cfg(test)]
pub(super) fn assert_page(name: &str, printed: &str) {
    let path = format!("{}/docs/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, printed).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap();
    let differs = page.lines().zip(printed.lines()).find(|(a, b)| a != b);
    assert_eq!(differs, None, "{path} is not what is printed");
    assert_eq!(page, printed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_columns() {
        let section = Section {
            title: "T",
            note: "",
            header: header(["a", "b"]),
            rows: vec![header(["long", "x"])],
        };
        assert_eq!(text(&[section]), "T\n  a     b\n  long  x\n\n");
    }

    #[test]
    fn cells_may_be_long() {
        let long = "x".repeat(100_000);
        let section = Section {
            title: "T",
            note: "",
            header: header(["a", "b"]),
            rows: vec![header([long.as_str(), "y"])],
        };
        assert!(text(&[section]).contains(&format!("{long}  y\n")));
    }

    #[test]
    fn markdown_has_tables() {
        let section = Section {
            title: "T",
            note: "N.",
            header: header(["a", "b"]),
            rows: vec![header(["x|y", "z"])],
        };
        assert_eq!(
            markdown("# P\n", &[section]),
            "# P\n\n## T\n\nN.\n\n| a | b |\n| --- | --- |\n| x\\|y | z |\n"
        );
    }
}
