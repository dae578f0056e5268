//! What Firesteel does with a property, in words.

use crate::config::declared::{Declaration, Effect, KnownValues};
use crate::config::{LaneName, SparkProperties, unknown_value};

const NATIVE: &str = "honoured natively";

/// Of any value.
pub(super) fn general(effect: Effect) -> String {
    match effect {
        Effect::Native => NATIVE.to_owned(),
        Effect::NativeBut(text) => format!("{NATIVE}; {text}"),
        Effect::Checked(text) => format!("only checked: {text}"),
        Effect::Jvm(text) => format!("the JVM's: {text}"),
        Effect::Refused => "refused: `true` stops the executor from starting".to_owned(),
        Effect::KnownValues(lanes) => format!("{NATIVE}; {}", known_values(lanes)),
    }
}

/// When lanes delegate, said once for lanes that know the same values.
fn known_values(lanes: &[KnownValues]) -> String {
    let mut said: Vec<(&[&str], Vec<&str>)> = Vec::new();
    for known in lanes {
        let same = said.iter_mut().find(|(values, _)| *values == known.values);
        match same {
            Some((_, names)) => names.push(known.lane.name()),
            None => said.push((known.values, vec![known.lane.name()])),
        }
    }
    let sentences = said.into_iter().map(|(values, names)| {
        let values = values.iter().map(|value| match *value {
            "" => "empty".to_owned(),
            value => format!("`{value}`"),
        });
        let values = values.collect::<Vec<_>>().join(" or ");
        match names.as_slice() {
            [name] => format!("the lane {name} delegates every task unless it is {values}"),
            names => format!(
                "the lanes {} delegate every task unless it is {values}",
                names.join(" and ")
            ),
        }
    });
    sentences.collect::<Vec<_>>().join("; ")
}

/// Of the value that a job's property has.
pub(super) fn of_job(declaration: &dyn Declaration, properties: &SparkProperties) -> String {
    let effect = declaration.about().effect;
    match effect {
        Effect::KnownValues(_) => {
            let reasons = LaneName::ALL.into_iter().filter_map(|lane| {
                let reason = unknown_value(properties, declaration, lane)?;
                Some(format!(
                    "the lane {} delegates every task: {reason}",
                    lane.name()
                ))
            });
            match reasons.collect::<Vec<_>>() {
                none if none.is_empty() => NATIVE.to_owned(),
                reasons => reasons.join("; "),
            }
        }
        // The value that is refused is among the errors.
        Effect::Refused => NATIVE.to_owned(),
        other => general(other).replace('`', ""),
    }
}
