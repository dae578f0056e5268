//! Expressions as text, for people and for tests.

use std::fmt;

use javatime::TimeZone;

use super::{Attribute, EvalMode, Expr, ExprKind, Lambda, SortOrder};

/// `name#id`
impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.id.id)
    }
}

impl fmt::Display for EvalMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Ansi => "ansi",
            Self::Try => "try",
        })
    }
}

/// Items with commas between them.
pub fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    texts.join(", ")
}

/// `Function[mode zone](arguments):type`
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Attribute(attribute) => write!(f, "{attribute}"),
            ExprKind::BoundReference { ordinal } => {
                write!(f, "input[{ordinal}]:{}", self.data_type)
            }
            ExprKind::Literal(value) => write!(f, "{value}:{}", self.data_type),
            ExprKind::Alias { child, name, id } => write!(f, "{child} AS {name}#{}", id.id),
            ExprKind::Cast {
                child,
                mode,
                time_zone,
            } => {
                let zone = time_zone.as_ref().map_or("-", TimeZone::id);
                write!(f, "Cast[{mode} {zone}]({child} as {})", self.data_type)
            }
            ExprKind::CaseWhen {
                branches,
                otherwise,
            } => {
                f.write_str("CASE")?;
                for (condition, value) in branches {
                    write!(f, " WHEN {condition} THEN {value}")?;
                }
                if let Some(value) = otherwise {
                    write!(f, " ELSE {value}")?;
                }
                f.write_str(" END")
            }
            ExprKind::In {
                value, list: of, ..
            } => write!(f, "{value} IN ({})", list(of)),
            ExprKind::InSet { value, set, .. } => {
                // A hash set has no order of its own.
                let mut texts: Vec<_> = set.iter().map(ToString::to_string).collect();
                texts.sort();
                write!(f, "{value} INSET ({})", texts.join(", "))
            }
            ExprKind::GetStructField { child, ordinal } => write!(f, "{child}.{ordinal}"),
            ExprKind::ToJson { child, form } => {
                let super::TimesText {
                    zone,
                    date,
                    timestamp,
                    timestamp_ntz,
                } = &form.times;
                let nulls = if form.ignore_nulls { "without" } else { "with" };
                write!(
                    f,
                    "StructsToJson[{zone} {date} {timestamp} {timestamp_ntz} {nulls} nulls]({child})"
                )
            }
            ExprKind::FromJson {
                child,
                form,
                malformed,
                ..
            } => write!(
                f,
                "JsonToStructs[{malformed:?} {}]({child}):{}",
                form.times, self.data_type
            ),
            ExprKind::CreateNamedStruct(values) => {
                write!(f, "CreateNamedStruct({}):{}", list(values), self.data_type)
            }
            ExprKind::ScalarSubquery { id, value } => {
                write!(f, "subquery#{}={value}:{}", id.id, self.data_type)
            }
            ExprKind::Draw(draw) => write!(f, "{draw:?}:{}", self.data_type),
            ExprKind::Jvm {
                expression,
                columns,
            } => write!(
                f,
                "Jvm[{}]({}):{}",
                expression.class,
                list(columns),
                self.data_type
            ),
            ExprKind::Native { function, args } => {
                write!(f, "{function}({}):{}", list(args), self.data_type)
            }
            ExprKind::HigherOrder {
                function,
                args,
                lambdas,
                ..
            } => {
                f.write_str(function.name())?;
                if let super::HigherOrder::ArrayExists {
                    three_valued: false,
                } = function
                {
                    f.write_str("[never null]")?;
                }
                write!(f, "({}, {})", list(args), list(lambdas))
            }
            ExprKind::Call {
                function,
                args,
                mode,
                time_zone,
            } => {
                f.write_str(function.name())?;
                match function {
                    super::Function::Like { escape } => write!(f, "[{escape}]")?,
                    super::Function::GetArrayStructFields { ordinal } => write!(f, "[{ordinal}]")?,
                    super::Function::IntervalText { fields } => write!(f, "[{fields}]")?,
                    super::Function::IntervalCut { last } => write!(f, "[to {last:?}]")?,
                    super::Function::IntervalOf { unit } => write!(f, "[of {unit:?}]")?,
                    super::Function::IntervalIn { unit } => write!(f, "[in {unit:?}]")?,
                    super::Function::Murmur3Hash { seed } => write!(f, "[{seed}]")?,
                    super::Function::XxHash64 { seed } => write!(f, "[{seed}]")?,
                    _ => {}
                }
                match (mode, time_zone) {
                    (Some(mode), None) => write!(f, "[{mode}]")?,
                    (None, Some(zone)) => write!(f, "[{zone}]")?,
                    (Some(mode), Some(zone)) => write!(f, "[{mode} {zone}]")?,
                    (None, None) => {}
                }
                write!(f, "({})", list(args))?;
                match self.data_type {
                    // The name says it.
                    crate::types::DataType::Boolean => Ok(()),
                    _ => write!(f, ":{}", self.data_type),
                }
            }
        }
    }
}

/// `(parameters) -> body`
impl fmt::Display for Lambda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) -> {}", list(&self.parameters), self.body)
    }
}

impl fmt::Display for SortOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.ascending { "ASC" } else { "DESC" };
        let nulls = if self.nulls_first { "FIRST" } else { "LAST" };
        write!(f, "{} {direction} NULLS {nulls}", self.child)
    }
}
