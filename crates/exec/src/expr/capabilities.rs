//! What is computed natively, found by trying.

use catalyst::Literal;
use catalyst::{Attribute, EvalMode, Expr, ExprId, ExprKind, Function, HigherOrder, Lambda};
use catalyst::{
    DataType, Decimal, IntervalField, IntervalFields, JsonForm, JsonText, Malformed, StructField,
    TimesText,
};
use javatime::{TimeZone, Zones};

use super::lower;

/// An expression with the types that it is computed for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// Name of Spark's class.
    pub name: &'static str,
    /// Types of the arguments, as Spark writes them; decimals stand for decimals of any precision and scale.
    pub arguments: Vec<String>,
    /// The modes in which it is computed. All, where it has none.
    pub modes: Vec<EvalMode>,
}

/// A conversion of `Cast`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CastCapability {
    /// What is converted.
    pub from: String,
    /// Into what.
    pub to: String,
    /// The modes in which it is computed; none if it is not.
    pub modes: Vec<EvalMode>,
}

const MODES: [EvalMode; 3] = [EvalMode::Legacy, EvalMode::Ansi, EvalMode::Try];

/// The time zone of what is listed without one.
fn utc() -> TimeZone {
    TimeZone::new("UTC", &Zones::default())
}

/// The types that are tried.
pub(crate) fn types() -> Vec<DataType> {
    vec![
        DataType::Null,
        DataType::Boolean,
        DataType::Byte,
        DataType::Short,
        DataType::Integer,
        DataType::Long,
        DataType::Float,
        DataType::Double,
        decimal(),
        DataType::String,
        DataType::Binary,
        DataType::Date,
        DataType::Timestamp,
        DataType::TimestampNtz,
        DataType::YearMonthInterval,
        DataType::DayTimeInterval,
        DataType::Time(6),
        DataType::Variant,
    ]
}

fn decimal() -> DataType {
    DataType::Decimal(Decimal {
        precision: 10,
        scale: 2,
    })
}

/// The name of a type; decimals have one for all, and so have times.
pub(crate) fn name(of: &DataType) -> String {
    match of {
        DataType::Decimal(_) => "decimal".to_owned(),
        DataType::Time(_) => "time".to_owned(),
        other => other.to_string(),
    }
}

/// Columns of these types, with ids from `first` on.
fn numbered<'a>(types: impl IntoIterator<Item = &'a DataType>, first: i64) -> Vec<Attribute> {
    let columns = types.into_iter().zip(first..).map(|(of, id)| Attribute {
        name: String::new(),
        data_type: of.clone(),
        nullable: true,
        id: ExprId { id, jvm_id: 0 },
    });
    columns.collect()
}

/// Whether an expression of columns of these types is lowered.
fn is_lowered(types: &[DataType], build: impl Fn(Vec<Expr>) -> Option<Expr>) -> bool {
    let input = numbered(types, 0);
    let columns = input.iter().cloned().map(Expr::attribute).collect();
    build(columns).is_some_and(|expr| lower(&expr, &input).is_ok())
}

/// Conversions of `Cast` from each type to each other, in UTC.
#[must_use]
pub fn casts() -> Vec<CastCapability> {
    casts_in(&utc())
}

/// The same in sessions of that time zone.
#[must_use]
pub fn casts_in(zone: &TimeZone) -> Vec<CastCapability> {
    let all = types();
    let pairs = all
        .iter()
        .flat_map(|from| all.iter().map(move |to| (from, to)));
    let pairs = pairs.filter(|(from, to)| from != to);
    pairs
        .map(|(from, to)| CastCapability {
            from: name(from),
            to: name(to),
            modes: modes(|mode| {
                is_lowered(std::slice::from_ref(from), |columns| {
                    let kind = cast(columns.into_iter().next()?, to, mode, zone);
                    Some(of_type(kind, to))
                })
            }),
        })
        .collect()
}

/// A cast, as it is read.
fn cast(child: Expr, to: &DataType, mode: EvalMode, zone: &TimeZone) -> ExprKind {
    let fields = match (&child.data_type, to) {
        (DataType::YearMonthInterval, DataType::String) => Some(IntervalFields {
            first: IntervalField::Year,
            last: IntervalField::Month,
        }),
        (DataType::DayTimeInterval, DataType::String) => Some(IntervalFields {
            first: IntervalField::Day,
            last: IntervalField::Second,
        }),
        _ => None,
    };
    match fields {
        Some(fields) => ExprKind::Call {
            function: Function::IntervalText { fields },
            args: vec![child],
            mode: None,
            time_zone: None,
        },
        None => ExprKind::Cast {
            child: Box::new(child),
            mode,
            time_zone: Some(zone.clone()),
        },
    }
}

fn modes(is_lowered: impl Fn(EvalMode) -> bool) -> Vec<EvalMode> {
    MODES.into_iter().filter(|mode| is_lowered(*mode)).collect()
}

fn of_type(kind: ExprKind, data_type: &DataType) -> Expr {
    Expr {
        kind,
        data_type: data_type.clone(),
        nullable: true,
    }
}

/// The results that a function may have for arguments of these types.
fn results(function: Function, args: &[DataType]) -> Vec<DataType> {
    match function.result_of(args) {
        Some(result) => vec![result],
        None if function == Function::GetTimestamp => {
            vec![DataType::Timestamp, DataType::TimestampNtz]
        }
        None if function == Function::ArraysZip => zipped(args).into_iter().collect(),
        None => args
            .first()
            .cloned()
            .into_iter()
            .chain([decimal()])
            .collect(),
    }
}

/// The structs of the elements of arrays.
fn zipped(args: &[DataType]) -> Option<DataType> {
    let fields = args.iter().map(|of| match of {
        DataType::Array { element, .. } => Some(StructField {
            name: "f".to_owned(),
            data_type: DataType::clone(element),
            nullable: true,
            field_id: None,
            exists_default: None,
        }),
        _ => None,
    });
    Some(array_of(&DataType::Struct(fields.collect::<Option<_>>()?)))
}

/// Whether Spark has the function for such arguments. What it never asks for need not be refused.
fn is_sent(function: Function, args: &[DataType]) -> bool {
    use Function as F;
    let first = args.first();
    match function {
        F::And | F::Or | F::Not => args.iter().all(|of| *of == DataType::Boolean),
        F::If => first == Some(&DataType::Boolean),
        F::ShiftLeft | F::ShiftRight | F::ShiftRightUnsigned => {
            matches!(first, Some(DataType::Integer | DataType::Long))
        }
        F::Round | F::BRound => args.get(1) == Some(&DataType::Integer),
        F::RoundCeil | F::RoundFloor => {
            matches!(args, [DataType::Decimal(_), DataType::Integer])
        }
        F::TruncDate | F::RLike | F::DateFormatClass => args.get(1) == Some(&DataType::String),
        F::TruncTimestamp => first == Some(&DataType::String),
        F::BloomFilterMightContain => first == Some(&DataType::Binary),
        F::FromUnixTime | F::UnixTimestamp | F::ToUnixTimestamp | F::GetTimestamp => {
            args.get(1) == Some(&DataType::String)
        }
        F::Encode | F::StringDecode => args.get(1) == Some(&DataType::String) && args.len() == 2,
        F::FormatString => first == Some(&DataType::String) && args.len() == 2,
        F::ToNumber | F::TryToNumber => args.get(1) == Some(&DataType::String),
        F::StringToMap => args.iter().all(|of| *of == DataType::String),
        F::AtLeastNNonNulls => first == Some(&DataType::Integer),
        // Of what is an array.
        F::KnownNotContainsNull => matches!(first, Some(DataType::Array { .. })),
        F::TimestampAdd | F::TimestampDiff | F::TimeDiff | F::TimeTrunc => {
            first == Some(&DataType::String)
        }
        F::ToTime | F::SecondsOfTimeWithFraction => args.get(1) == Some(&DataType::Integer),
        F::ParseJson => {
            *args
                == [
                    DataType::String,
                    DataType::Boolean,
                    DataType::Boolean,
                    DataType::Boolean,
                ]
        }
        F::VariantGet => *args == [DataType::Variant, DataType::String],
        F::StringSplit => *args == [DataType::String, DataType::String, DataType::Integer],
        // Whatever the values are.
        F::CreateMap => args.get(1) == Some(&DataType::Integer),
        _ => true,
    }
}

/// What has to be a constant for a function.
fn constants(function: Function) -> Vec<(usize, Literal, DataType)> {
    /// A filter of one word, of the first version.
    const FILTER: [u8; 20] = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1];
    let text = |text: &str| Literal::String(text.as_bytes().to_vec());
    match function {
        Function::AtLeastNNonNulls => vec![(0, Literal::Integer(1), DataType::Integer)],
        Function::Round | Function::BRound | Function::RoundCeil | Function::RoundFloor => {
            vec![(1, Literal::Integer(0), DataType::Integer)]
        }
        Function::TruncDate => vec![(1, text("year"), DataType::String)],
        Function::TruncTimestamp => vec![(0, text("year"), DataType::String)],
        Function::DateFormatClass => vec![(1, text("yyyy"), DataType::String)],
        Function::TimestampAdd | Function::TimestampDiff => {
            vec![(0, text("YEAR"), DataType::String)]
        }
        Function::TimeDiff | Function::TimeTrunc => vec![(0, text("HOUR"), DataType::String)],
        Function::ToTime | Function::SecondsOfTimeWithFraction => {
            vec![(1, Literal::Integer(6), DataType::Integer)]
        }
        Function::FromUnixTime
        | Function::UnixTimestamp
        | Function::ToUnixTimestamp
        | Function::GetTimestamp => vec![(1, text("yyyy"), DataType::String)],
        Function::Encode | Function::StringDecode => vec![(1, text("UTF-8"), DataType::String)],
        Function::ParseJson => (1..4)
            .map(|at| (at, Literal::Boolean(true), DataType::Boolean))
            .collect(),
        Function::VariantGet => vec![(1, text("$.a"), DataType::String)],
        Function::FormatString => vec![(0, text("%s"), DataType::String)],
        Function::ToNumber | Function::TryToNumber => vec![(1, text("99.9"), DataType::String)],
        Function::StringToMap => vec![
            (1, text(","), DataType::String),
            (2, text(":"), DataType::String),
        ],
        Function::RLike
        | Function::RegExpReplace
        | Function::RegExpExtract
        | Function::RegExpExtractAll
        | Function::RegExpInStr => vec![(1, text("a"), DataType::String)],
        Function::StringSplit => vec![
            (1, text("a"), DataType::String),
            (2, Literal::Integer(-1), DataType::Integer),
        ],
        Function::BloomFilterMightContain => {
            vec![(0, Literal::Binary(FILTER.to_vec()), DataType::Binary)]
        }
        _ => Vec::new(),
    }
}

/// Whether it is a function of arrays or maps. What takes any type, as `If`, is shown for types without parts only.
fn takes_parts(function: Function) -> bool {
    super::nested::takes_collections(function)
        || matches!(
            function,
            Function::Concat
                | Function::Reverse
                | Function::KnownNotContainsNull
                | Function::ToVariantObject
        )
}

fn array_of(element: &DataType) -> DataType {
    DataType::Array {
        element: Box::new(element.clone()),
        contains_null: true,
    }
}

/// Arguments with arrays and maps of a type.
fn with_parts(of: &DataType) -> Vec<Vec<DataType>> {
    let map = || DataType::Map {
        key: Box::new(of.clone()),
        value: Box::new(DataType::Integer),
        value_contains_null: true,
    };
    let int = DataType::Integer;
    vec![
        vec![array_of(of)],
        vec![array_of(of), array_of(of)],
        vec![array_of(of), of.clone()],
        vec![array_of(of), int.clone()],
        vec![array_of(of), DataType::Boolean],
        vec![array_of(of), DataType::String],
        vec![array_of(of), int.clone(), int],
        vec![map()],
        vec![map(), of.clone()],
    ]
}

fn call(
    function: Function,
    args: Vec<Expr>,
    mode: EvalMode,
    zone: &TimeZone,
    to: &DataType,
) -> Expr {
    let kind = ExprKind::Call {
        function,
        args,
        mode: Some(mode),
        time_zone: Some(zone.clone()),
    };
    of_type(kind, to)
}

/// Arguments of three and more types of different kinds.
fn mixed() -> Vec<Vec<DataType>> {
    use DataType as T;
    let mut found = vec![
        vec![T::String; 3],
        vec![T::String, T::String, T::Integer],
        vec![T::String, T::String, T::Integer, T::Integer],
        vec![T::String, T::String, T::String, T::Integer],
        vec![T::Double, T::Double, T::Double, T::Long],
        vec![T::String, T::Time(6), T::Time(6)],
        vec![T::DayTimeInterval, T::Timestamp, T::Timestamp],
        vec![T::YearMonthInterval, T::Timestamp, T::Timestamp],
        vec![T::DayTimeInterval, T::TimestampNtz, T::TimestampNtz],
        vec![T::YearMonthInterval, T::TimestampNtz, T::TimestampNtz],
        vec![
            T::Integer,
            T::Integer,
            T::Decimal(Decimal {
                precision: 16,
                scale: 6,
            }),
        ],
        vec![T::String, T::Boolean, T::Boolean, T::Boolean],
    ];
    for time in [T::Timestamp, T::TimestampNtz] {
        found.push(vec![time.clone(), time.clone(), T::Boolean]);
        found.push(vec![T::String, time.clone(), time.clone()]);
        found.push(vec![T::String, T::Integer, time.clone()]);
        found.push(vec![T::String, T::Long, time]);
    }
    found
}

/// Types of the arguments, up to three, that a function is computed for.
fn function(function: Function, zone: &TimeZone) -> Vec<Capability> {
    let all = types();
    let mut tried: Vec<Vec<DataType>> = all.iter().map(|of| vec![of.clone()]).collect();
    for left in &all {
        tried.extend(all.iter().map(|right| vec![left.clone(), right.clone()]));
        // Functions of three have two of a kind or know their types.
        tried.push(vec![DataType::Boolean, left.clone(), left.clone()]);
        tried.push(vec![left.clone(), DataType::Integer, DataType::Integer]);
        tried.push(vec![left.clone(), DataType::Integer, left.clone()]);
    }
    tried.extend(mixed());
    if takes_parts(function) {
        all.iter().for_each(|of| tried.extend(with_parts(of)));
    }
    if function == Function::Flatten {
        let arrays = all.iter().map(|of| vec![array_of(&array_of(of))]);
        tried.extend(arrays);
    }
    tried.retain(|types| function.arity().contains(&types.len()) && is_sent(function, types));
    let takes_any_number = *function.arity().end() == usize::MAX;
    let fixed = constants(function);
    let mut found: Vec<Capability> = Vec::new();
    for types in tried {
        let results = results(function, &types);
        let modes = modes(|mode| {
            results.iter().any(|to| {
                is_lowered(&types, |mut columns| {
                    for (at, value, of) in &fixed {
                        let column = columns.get_mut(*at)?;
                        *column = Expr {
                            kind: ExprKind::Literal(value.clone()),
                            data_type: of.clone(),
                            nullable: false,
                        };
                    }
                    Some(call(function, columns, mode, zone, to))
                })
            })
        });
        let capability = Capability {
            name: function.name(),
            arguments: types.iter().map(name).collect(),
            modes,
        };
        // What takes any number is shown with as few as it takes.
        let shorter = found
            .iter()
            .any(|other| other.arguments.len() < types.len() && takes_any_number);
        if !capability.modes.is_empty() && !shorter && !found.contains(&capability) {
            found.push(capability);
        }
    }
    found
}

/// Functions with the types of their arguments, in UTC.
#[must_use]
pub fn functions() -> Vec<Capability> {
    functions_in(&utc())
}

/// The same in sessions of that time zone.
#[must_use]
pub fn functions_in(zone: &TimeZone) -> Vec<Capability> {
    let parameters = [
        Function::Like { escape: '\\' },
        Function::Murmur3Hash { seed: 42 },
        Function::XxHash64 { seed: 42 },
    ];
    let functions = Function::ALL.iter().chain(&parameters);
    functions
        .flat_map(|name| function(*name, zone))
        .chain(others())
        .chain(types().iter().flat_map(of_lambdas))
        .collect()
}

/// Functions of lambdas, for a type of elements. Their lambdas give a parameter back, or hold for all.
fn of_lambdas(of: &DataType) -> Vec<Capability> {
    use HigherOrder as H;
    let array = array_of(of);
    let map = DataType::Map {
        key: Box::new(DataType::String),
        value: Box::new(of.clone()),
        value_contains_null: true,
    };
    // No arguments have these numbers.
    let parameters = |types: &[&DataType]| numbered(types.iter().copied(), 100);
    let gives = |types: &[&DataType], place: usize| {
        let parameters = parameters(types);
        let body = parameters.get(place).cloned().map(Expr::attribute);
        body.map(|body| Lambda { parameters, body })
    };
    let holds = |types: &[&DataType]| {
        let always = ExprKind::Literal(Literal::Boolean(true));
        Some(Lambda {
            parameters: parameters(types),
            body: of_type(always, &DataType::Boolean),
        })
    };
    let equal = |types: &[&DataType]| {
        let zero = ExprKind::Literal(Literal::Integer(0));
        Some(Lambda {
            parameters: parameters(types),
            body: of_type(zero, &DataType::Integer),
        })
    };
    let keyed = DataType::Map {
        key: Box::new(of.clone()),
        value: Box::new(of.clone()),
        value_contains_null: true,
    };
    let exists = H::ArrayExists { three_valued: true };
    let (boolean, key) = (DataType::Boolean, DataType::String);
    let all = [
        (
            H::ArrayTransform,
            vec![&array],
            &array,
            vec![gives(&[of], 0)],
        ),
        (H::ArrayFilter, vec![&array], &array, vec![holds(&[of])]),
        (exists, vec![&array], &boolean, vec![holds(&[of])]),
        (H::ArrayForAll, vec![&array], &boolean, vec![holds(&[of])]),
        (
            H::ArrayAggregate,
            vec![&array, of],
            of,
            vec![gives(&[of, of], 0), gives(&[of], 0)],
        ),
        (
            H::ZipWith,
            vec![&array, &array],
            &array,
            vec![gives(&[of, of], 0)],
        ),
        (H::ArraySort, vec![&array], &array, vec![equal(&[of, of])]),
        (H::MapFilter, vec![&map], &map, vec![holds(&[&key, of])]),
        (
            H::MapZipWith,
            vec![&map, &map],
            &map,
            vec![gives(&[&key, of, of], 1)],
        ),
        (
            H::TransformKeys,
            vec![&map],
            &keyed,
            vec![gives(&[&key, of], 1)],
        ),
        (
            H::TransformValues,
            vec![&map],
            &map,
            vec![gives(&[&key, of], 1)],
        ),
    ];
    let found = all
        .into_iter()
        .filter_map(|(function, arguments, to, lambdas)| {
            let lambdas: Vec<_> = lambdas.into_iter().collect::<Option<_>>()?;
            let arguments: Vec<_> = arguments.into_iter().cloned().collect();
            let build = |args| {
                let kind = ExprKind::HigherOrder {
                    function,
                    args,
                    lambdas: lambdas.clone(),
                    captured: Vec::new(),
                };
                Some(of_type(kind, to))
            };
            is_lowered(&arguments, build).then(|| Capability {
                name: function.name(),
                arguments: arguments.iter().map(name).collect(),
                modes: MODES.to_vec(),
            })
        });
    found.collect()
}

/// Expressions that are no functions, for each type.
fn others() -> Vec<Capability> {
    let first = |columns: Vec<Expr>| columns.into_iter().next();
    let mut found = Vec::new();
    for of in types() {
        let mut add = |name: &'static str,
                       arguments: &[&DataType],
                       to: &DataType,
                       kind: &dyn Fn(Vec<Expr>) -> Option<ExprKind>| {
            let arguments: Vec<_> = arguments.iter().copied().cloned().collect();
            if is_lowered(&arguments, |columns| Some(of_type(kind(columns)?, to))) {
                found.push(Capability {
                    name,
                    arguments: arguments.iter().map(self::name).collect(),
                    modes: MODES.to_vec(),
                });
            }
        };
        let boolean = DataType::Boolean;
        add("CaseWhen", &[&boolean, &of, &of], &of, &|columns| {
            let [when, then, otherwise] = <[Expr; 3]>::try_from(columns).ok()?;
            Some(ExprKind::CaseWhen {
                branches: vec![(when, then)],
                otherwise: Some(Box::new(otherwise)),
            })
        });
        add("In", &[&of, &of], &boolean, &|columns| {
            let [value, item] = <[Expr; 2]>::try_from(columns).ok()?;
            Some(ExprKind::In {
                value: Box::new(value),
                list: vec![item],
                legacy_null_in_empty: false,
            })
        });
        add("InSet", &[&of], &boolean, &|columns| {
            Some(ExprKind::InSet {
                value: Box::new(first(columns)?),
                set: vec![Literal::Null],
                legacy_null_in_empty: false,
            })
        });
        let fields = DataType::Struct(vec![StructField {
            name: "f".to_owned(),
            data_type: of.clone(),
            nullable: true,
            field_id: None,
            exists_default: None,
        }]);
        add("CreateNamedStruct", &[&of], &fields, &|columns| {
            Some(ExprKind::CreateNamedStruct(columns))
        });
        add("JsonToStructs", &[&DataType::String], &fields, &|columns| {
            Some(ExprKind::FromJson {
                child: Box::new(first(columns)?),
                form: Box::new(JsonForm::new(utc())),
                malformed: Malformed::Null,
                corrupt_record: String::new(),
            })
        });
        add("StructsToJson", &[&fields], &DataType::String, &|columns| {
            Some(ExprKind::ToJson {
                child: Box::new(first(columns)?),
                form: Box::new(JsonText {
                    times: TimesText::new(utc()),
                    ignore_nulls: true,
                }),
            })
        });
        add("GetStructField", &[&fields], &of, &|columns| {
            Some(ExprKind::GetStructField {
                child: Box::new(first(columns)?),
                ordinal: 0,
            })
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lowered_is_found() {
        let all = functions();
        let has = |name: &str, arguments: &[&str]| {
            all.iter()
                .any(|found| found.name == name && found.arguments == arguments)
        };
        assert!(has("Add", &["decimal", "decimal"]));
        assert!(has("Add", &["int", "int"]));
        assert!(!has("Add", &["int", "bigint"]));
        assert!(has("Substring", &["string", "int", "int"]));
        assert!(has("Year", &["date"]));
        assert!(has("RLike", &["string", "string"]));
        assert!(has("BloomFilterMightContain", &["binary", "bigint"]));
        assert!(has("Abs", &["double"]) && !has("Abs", &["date"]));
        assert!(!has("Not", &["date"]) && !has("Not", &["boolean", "boolean"]));
        assert!(has("Like", &["string", "string"]));
        assert!(has("If", &["boolean", "double", "double"]));
        assert!(has("TruncDate", &["date", "string"]));
        assert!(has("Md5", &["binary"]));
        assert!(!has("Md5", &["string"]));
        assert!(has("CaseWhen", &["boolean", "string", "string"]));
        assert!(!has("In", &["void", "void"]));
        assert!(
            has("ArrayFilter", &["array<string>"]) && has("ArrayAggregate", &["array<int>", "int"])
        );
    }

    #[test]
    fn time_zones_that_are_not_known_are_refused() {
        let zone = |id: &str| TimeZone::new(id, &Zones::default());
        let unknown = functions_in(&zone(""));
        let has = |all: &[Capability], name: &str, of: &str| {
            all.iter()
                .any(|found| found.name == name && found.arguments == [of])
        };
        assert!(has(&unknown, "Year", "date") && has(&unknown, "Hour", "timestamp_ntz"));
        assert!(!has(&unknown, "Hour", "timestamp"));
        for id in ["UTC", "+01:00"] {
            assert!(has(&functions_in(&zone(id)), "Hour", "timestamp"), "{id}");
        }
        let date = |casts: Vec<CastCapability>| {
            let mut casts = casts.into_iter();
            casts
                .find(|cast| cast.from == "date" && cast.to == "timestamp")
                .unwrap()
                .modes
        };
        assert_eq!(date(casts_in(&zone(""))), []);
        assert_eq!(date(casts_in(&utc())), MODES);
    }

    #[test]
    fn casts_are_found_for_each_mode() {
        let casts = casts();
        let modes = |from: &str, to: &str| {
            let mut casts = casts.iter();
            let found = casts.find(|cast| cast.from == from && cast.to == to);
            found.map(|cast| cast.modes.as_slice())
        };
        assert_eq!(modes("date", "timestamp"), Some(&MODES[..]));
        assert_eq!(modes("date", "binary"), Some(&[][..]));
        assert_eq!(modes("date", "date"), None);
    }
}
