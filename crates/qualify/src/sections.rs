//! Formatted plans: the text of `EXPLAIN FORMATTED`, which comes with each plan and has what its operators' lines lack:
//! whole lists, and what is computed of aggregates.

use std::cell::Cell;

/// What an operator's line has in the place of the rest of a long list.
const MORE: &str = " more fields";

/// Bytes that are looked through for all operators of a plan together.
const MAX_SEARCHED: usize = 1 << 28;

/// The sections of a formatted plan, one for each operator.
#[derive(Debug, Default)]
pub(crate) struct Sections<'t> {
    all: Vec<Section<'t>>,
    /// Bytes that were looked through.
    searched: Cell<usize>,
}

#[derive(Debug)]
struct Section<'t> {
    name: &'t str,
    lines: Vec<&'t str>,
}

impl<'t> Sections<'t> {
    pub(crate) fn read(text: &'t str) -> Self {
        let mut all: Vec<Section<'t>> = Vec::new();
        let mut is_inside = false;
        for line in text.lines() {
            if let Some(name) = head(line) {
                all.push(Section {
                    name,
                    lines: Vec::new(),
                });
                is_inside = true;
            } else if line.trim().is_empty() {
                is_inside = false;
            } else if is_inside && let Some(section) = all.last_mut() {
                section.lines.push(line);
            }
        }
        Self {
            all,
            searched: Cell::new(0),
        }
    }

    /// The sections of operators of that name; none once enough was looked through.
    fn of<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Section<'t>> {
        let sections = self.all.iter().take_while(|section| {
            let lines = section.lines.iter().map(|line| line.len());
            let searched = self.searched.get() + section.name.len() + lines.sum::<usize>();
            self.searched.set(searched);
            searched <= MAX_SEARCHED
        });
        sections.filter(move |section| section.name.trim() == name.trim())
    }

    /// An operator's line with whole lists; `None` if what was cut off is not here.
    pub(crate) fn whole(&self, name: &str, line: &str) -> Option<String> {
        let mut whole = String::new();
        let mut rest = line;
        while let Some((before, after)) = cut(rest) {
            let start = before.rfind('[').map_or(0, |at| at + 1);
            let known = before
                .get(start..)
                .unwrap_or_default()
                .trim_end_matches([',', ' ']);
            let mut lines = self.of(name).flat_map(|section| &section.lines);
            let tail = lines.find_map(|line| {
                let (_, values) = line.split_once(": ")?;
                let at = values.find(known).filter(|_| !known.is_empty())?;
                values
                    .get(at..)?
                    .strip_suffix(']')
                    .filter(|tail| !tail.contains(MORE))
            })?;
            whole.push_str(before.get(..start).unwrap_or_default());
            whole.push_str(tail);
            rest = after;
        }
        whole.push_str(rest);
        Some(whole)
    }

    /// What is computed of the groups of an aggregate, for each aggregate with that line.
    pub(crate) fn results(&self, name: &str, line: &str) -> Vec<&'t str> {
        let field = |section: &Section<'t>, field: &str| {
            let mut lines = section.lines.iter();
            lines.find_map(|line| {
                let rest = line.strip_prefix(field)?;
                let (_, value) = rest.split_once(": ").or_else(|| rest.split_once(':'))?;
                Some(value)
            })
        };
        let all = self.of(name).filter(|section| {
            let keys = field(section, "Keys").unwrap_or("[]");
            let functions = field(section, "Functions").unwrap_or("[]");
            line.contains(&format!("(keys={keys}, functions={functions}"))
        });
        all.filter_map(|section| field(section, "Results"))
            .collect()
    }
}

/// The operator that a section is of: `(4) Project [codegen id : 1]`.
fn head(line: &str) -> Option<&str> {
    let (number, name) = line.strip_prefix('(')?.split_once(") ")?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(name.split(" [codegen id").next().unwrap_or(name))
}

/// What is before and behind `... 5 more fields`.
fn cut(line: &str) -> Option<(&str, &str)> {
    let (before, after) = line.split_once(MORE)?;
    let (before, number) = before.rsplit_once("... ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some((before, after))
}

/// Whether something is cut off from an operator's line.
pub(crate) fn is_cut(line: &str) -> bool {
    cut(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "== Physical Plan ==\n* Project (2)\n\n\n(1) Scan parquet \nOutput [1]: [v#1L]\n\n(2) Project [codegen id : 1]\n\
                        Output [3]: [v#1L AS a#2L, (v#1L + 1) AS b#3L, abs(v#1L) AS c#4L]\nInput [1]: [v#1L]\n\n(3) HashAggregate [codegen id : 2]\n\
                        Input [1]: [v#1L]\nKeys [1]: [v#1L]\nFunctions [1]: [sum(v#1L)]\nAggregate Attributes [1]: [sum(v#1L)#9L]\n\
                        Results [1]: [abs(sum(v#1L)#9L) AS s#5L]\n";

    #[test]
    fn lists_are_made_whole() {
        let sections = Sections::read(PLAN);
        let line = "Project [v#1L AS a#2L, (v#1L + 1) AS b#3L, ... 1 more fields]";
        assert!(is_cut(line) && !is_cut("Project [a more fields]"));
        assert_eq!(
            sections.whole("Project", line).as_deref(),
            Some("Project [v#1L AS a#2L, (v#1L + 1) AS b#3L, abs(v#1L) AS c#4L]")
        );
        assert_eq!(
            sections.whole("Project", "Project [x#7, ... 30 more fields]"),
            None
        );
        assert_eq!(
            sections.whole("Filter", "Filter a#1").as_deref(),
            Some("Filter a#1")
        );
    }

    #[test]
    fn results_of_aggregates_are_found() {
        let sections = Sections::read(PLAN);
        let found = sections.results(
            "HashAggregate",
            "HashAggregate(keys=[v#1L], functions=[sum(v#1L)])",
        );
        assert_eq!(found, ["[abs(sum(v#1L)#9L) AS s#5L]"]);
        assert!(
            sections
                .results("HashAggregate", "HashAggregate(keys=[], functions=[])")
                .is_empty()
        );
    }
}
