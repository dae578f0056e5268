//! Aggregate functions out of the classes that Spark writes them as.

use javaser::ScalaVersion;

use super::{AggregateFunction, AggregateKind, Between, BitOperation, Comoment, ListOrder, Moment};
use crate::error::{Result, Unsupported};
use crate::expr::{
    EvalMode, Expr, ExprKind, eval_context, eval_mode, read_attributes, read_sort_orders,
};
use crate::literal::Literal;
use crate::object::{Object, Reader, simple};
use crate::types::{DataType, Decimal};

mod sketches;

/// Fields that follow from others.
pub(crate) const DERIVED: [&str; 6] = [
    "aggBufferAttributes",
    "evaluateExpression",
    "initialValues",
    "mergeExpressions",
    "updateExpressions",
    "resultType",
];

/// Where the buffer of an `ImperativeAggregate` is.
const PLACES: [&str; 2] = ["mutableAggBufferOffset", "inputAggBufferOffset"];

/// Registers of `HyperLogLogPlusPlus`: more bits than Spark's tables have rows for cannot be asked for.
const PRECISIONS: std::ops::RangeInclusive<u8> = 4..=18;

/// A function, its arguments and the type of its results.
pub(super) type Parts = (AggregateKind, Vec<Expr>, DataType);

impl AggregateFunction {
    pub(super) fn read(reader: &Reader<'_>, object: Object<'_>) -> Result<Self> {
        let package = "org.apache.spark.sql.catalyst.expressions.aggregate.";
        let Some(name) = object.class().strip_prefix(package) else {
            return Err(Unsupported::Class(simple(object.class()).to_owned()));
        };
        let fields = Fields { reader, object };
        let (mut percentages, mut constants) = (Vec::new(), Vec::new());
        let (kind, args, data_type) = match name {
            "Sum" | "Average" => fields.sum(name)?,
            "Count" => fields.count()?,
            "Min" | "Max" | "First" | "Last" => fields.one_of_them(name)?,
            "MaxBy" | "MinBy" => fields.extremum_by(name)?,
            "MaxMinByK" => fields.extremes_by()?,
            "StddevSamp" | "StddevPop" | "VarianceSamp" | "VariancePop" | "Skewness"
            | "Kurtosis" | "RegrReplacement" => fields.moment(name)?,
            "Corr" | "CovPopulation" | "CovSample" | "RegrR2" | "RegrSXY" | "RegrSlope"
            | "RegrIntercept" => fields.comoment(name)?,
            "BitAndAgg" | "BitOrAgg" | "BitXorAgg" => fields.bits(name)?,
            "HyperLogLogPlusPlus" => fields.approx_count_distinct()?,
            "CollectList" | "CollectSet" => fields.collect(name)?,
            "Percentile" | "PercentileDisc" | "ApproximatePercentile" => {
                percentages = fields.percentages()?;
                fields.percentile(name)?
            }
            "ListAgg" => {
                constants = vec![fields.delimiter()?];
                fields.list_agg()?
            }
            "HistogramNumeric" => fields.histogram()?,
            "Mode" => fields.mode()?,
            "PivotFirst" => {
                constants = fields.pivots()?;
                fields.pivot_first()?
            }
            "HllSketchAgg" => fields.hll_sketch()?,
            "HllUnionAgg" => fields.hll_union()?,
            "CountMinSketchAgg" => {
                constants = fields.count_min_constants()?;
                fields.count_min_sketch()?
            }
            "BloomFilterAggregate" => fields.bloom_filter()?,
            other => return Err(Unsupported::Class(other.to_owned())),
        };
        let input_buffer = match object.maybe("inputAggBufferAttributes") {
            Some(_) => read_attributes(reader, object.elements("inputAggBufferAttributes")?)?,
            None => Vec::new(),
        };
        Ok(Self {
            kind,
            args,
            percentages,
            constants,
            data_type,
            input_buffer,
        })
    }
}

/// The fields of a function's object.
#[derive(Clone, Copy)]
pub(super) struct Fields<'r, 'g> {
    pub(super) reader: &'r Reader<'g>,
    pub(super) object: Object<'g>,
}

impl Fields<'_, '_> {
    pub(super) fn only(self, known: &[&str]) -> Result<()> {
        self.object.only(&[&DERIVED, known].concat())
    }

    /// As [`Self::only`], of a function whose buffer has a place of its own.
    pub(super) fn only_placed(self, known: &[&str]) -> Result<()> {
        self.only(&[known, &PLACES].concat())
    }

    pub(super) fn arg(self, field: &str) -> Result<Expr> {
        Expr::read(self.reader, self.object.value(field)?)
    }

    pub(super) fn args(self, fields: &[&str]) -> Result<Vec<Expr>> {
        fields.iter().map(|field| self.arg(field)).collect()
    }

    fn sum(self, name: &str) -> Result<Parts> {
        let object = self.object;
        if name == "Average" {
            self.only(&["child", "evalMode", "count", "sum", "sumDataType"])?;
            let (mode, child) = (eval_mode(object)?, self.arg("child")?);
            let data_type = average_type(&child.data_type);
            return Ok((AggregateKind::Average { mode }, vec![child], data_type));
        }
        self.only(&[
            "child",
            "evalMode",
            "evalContext",
            "isEmpty",
            "sum",
            "zero",
            "shouldTrackIsEmpty",
        ])?;
        let (mode, child) = (eval_context(object, &mut false)?, self.arg("child")?);
        let data_type = sum_type(&child.data_type);
        Ok((AggregateKind::Sum { mode }, vec![child], data_type))
    }

    fn count(self) -> Result<Parts> {
        self.only(&["children", "count"])?;
        let args = Expr::read_all(self.reader, self.object.elements("children")?)?;
        Ok((AggregateKind::Count, args, DataType::Long))
    }

    fn one_of_them(self, name: &str) -> Result<Parts> {
        let kind = match name {
            "Min" | "Max" => {
                self.only(&["child", "min", "max"])?;
                match name {
                    "Min" => AggregateKind::Min,
                    _ => AggregateKind::Max,
                }
            }
            _ => {
                self.only(&["child", "ignoreNulls", "first", "last", "valueSet"])?;
                let ignore_nulls = self.object.bool("ignoreNulls")?;
                match name {
                    "First" => AggregateKind::First { ignore_nulls },
                    _ => AggregateKind::Last { ignore_nulls },
                }
            }
        };
        let child = self.arg("child")?;
        let data_type = child.data_type.clone();
        Ok((kind, vec![child], data_type))
    }

    fn moment(self, name: &str) -> Result<Parts> {
        self.only(&["child", "nullOnDivideByZero"])?;
        let moment = match name {
            "StddevSamp" => Moment::StddevSamp,
            "StddevPop" => Moment::StddevPop,
            "VarianceSamp" => Moment::VarianceSamp,
            "VariancePop" => Moment::VariancePop,
            "Skewness" => Moment::Skewness,
            "Kurtosis" => Moment::Kurtosis,
            _ => Moment::SumOfSquares,
        };
        let kind = AggregateKind::CentralMoment {
            moment,
            null_on_divide_by_zero: self.null_on_divide_by_zero()?,
            skips_empty: self.skips_empty()?,
        };
        Ok((kind, vec![self.arg("child")?], DataType::Double))
    }

    /// What regressions say to what they are made of, or what the function itself says.
    fn null_on_divide_by_zero(self) -> Result<bool> {
        match self.object.get("nullOnDivideByZero") {
            Some(_) => self.object.bool("nullOnDivideByZero"),
            None => Ok(true),
        }
    }

    /// Whether buffers are merged with a rule for those without rows.
    fn skips_empty(self) -> Result<bool> {
        // The second is the average's: a sum, or one side's if the other is empty.
        let average = self.object.elements("mergeExpressions")?.get(1).copied();
        let average = average.ok_or_else(|| self.object.missing("mergeExpressions"))?;
        Ok(simple(self.reader.class(average)) == "If")
    }

    fn comoment(self, name: &str) -> Result<Parts> {
        self.only(&[
            "x",
            "y",
            "left",
            "right",
            "nullOnDivideByZero",
            "covarPop",
            "varPop",
            "inputAggBufferAttributes",
        ])?;
        let comoment = match name {
            "Corr" => Comoment::Corr,
            "CovPopulation" => Comoment::CovPopulation,
            "CovSample" => Comoment::CovSample,
            "RegrR2" => Comoment::RegrR2,
            "RegrSXY" => Comoment::SumOfProducts,
            "RegrSlope" => Comoment::RegrSlope,
            _ => Comoment::RegrIntercept,
        };
        let args = self.args(match comoment {
            Comoment::Corr => &["x", "y"],
            Comoment::RegrR2 => &["y", "x"],
            // What they are made of has the independent variable first.
            Comoment::RegrSlope | Comoment::RegrIntercept => &["right", "left"],
            _ => &["left", "right"],
        })?;
        let of = match comoment.is_regression() {
            true => Fields {
                object: self.object.object("covarPop")?,
                ..self
            },
            false => self,
        };
        let (checks_squares, null_by_zero) = self.of_constants(comoment, &args)?;
        let kind = AggregateKind::Comoment {
            comoment,
            null_on_divide_by_zero: self.null_on_divide_by_zero()?,
            skips_empty: of.skips_empty()?,
            checks_squares,
            null_by_zero,
        };
        Ok((kind, args, DataType::Double))
    }

    /// Whether correlations with constants have a rule of their own, or are null. Fails where Spark's older releases
    /// compute something else.
    fn of_constants(self, comoment: Comoment, args: &[Expr]) -> Result<(bool, bool)> {
        let result = |object: Object<'_>| match object.name() {
            "If" => Ok(()),
            other => Err(Unsupported::Class(other.to_owned())),
        };
        match comoment {
            Comoment::Corr => {
                // Without rows, with one row, and otherwise.
                let no_rows = self.object.object("evaluateExpression")?;
                result(no_rows)?;
                let one_row = no_rows.object("falseValue")?;
                result(one_row)?;
                let other = one_row.object("falseValue")?;
                match other.name() {
                    "Divide" => Ok((false, eval_context(other, &mut false)? == EvalMode::Legacy)),
                    _ => result(other).map(|()| (true, false)),
                }
            }
            Comoment::RegrR2 => {
                let no_squares = self.object.object("evaluateExpression")?;
                result(no_squares)?;
                let of = no_squares.object("predicate")?.object("left")?;
                match of.text("name")?.as_ref() {
                    "yMk" => Ok((true, false)),
                    other => Err(Unsupported::of_use(format!("RegrR2 that looks at {other}"))),
                }
            }
            // Before Spark 3.5.2 rows count of which only the dependent variable is null.
            Comoment::RegrSlope | Comoment::RegrIntercept
                if scala_version(self.reader)? == ScalaVersion::V2_12
                    && args.last().is_some_and(|dependent| dependent.nullable) =>
            {
                Err(Unsupported::of_use("a regression of nulls in Spark 3.5"))
            }
            _ => Ok((false, false)),
        }
    }

    fn bits(self, name: &str) -> Result<Parts> {
        self.only(&["child", "bitAgg"])?;
        let child = self.arg("child")?;
        let data_type = child.data_type.clone();
        let operation = match name {
            "BitAndAgg" => BitOperation::And,
            "BitOrAgg" => BitOperation::Or,
            _ => BitOperation::Xor,
        };
        Ok((AggregateKind::Bits(operation), vec![child], data_type))
    }

    fn approx_count_distinct(self) -> Result<Parts> {
        self.only_placed(&[
            "child",
            "relativeSD",
            "hllppHelper",
            "inputAggBufferAttributes",
        ])?;
        let error = self.reader.graph.double(self.object.value("relativeSD")?);
        let error = error.ok_or_else(|| self.object.missing("relativeSD"))?;
        let bits = (2.0 * (1.106 / error).ln() / 2.0_f64.ln()).ceil();
        let precision = PRECISIONS
            .into_iter()
            .find(|known| f64::from(*known) == bits);
        let precision = precision
            .ok_or_else(|| Unsupported::of_use(format!("HyperLogLogPlusPlus within {error}")))?;
        let kind = AggregateKind::ApproxCountDistinct { precision };
        Ok((kind, vec![self.arg("child")?], DataType::Long))
    }

    fn collect(self, name: &str) -> Result<Parts> {
        let known = ["child", "bufferElementType", "ignoreNulls"];
        self.only_placed(&known)?;
        if self.object.get("ignoreNulls").is_some() && !self.object.flag("ignoreNulls") {
            return Err(Unsupported::of_use(format!("{name} with nulls")));
        }
        let child = self.arg("child")?;
        let data_type = DataType::Array {
            element: Box::new(child.data_type.clone()),
            contains_null: false,
        };
        let kind = match name {
            "CollectList" => AggregateKind::CollectList,
            _ => AggregateKind::CollectSet {
                scala: scala_version(self.reader)?,
            },
        };
        Ok((kind, vec![child], data_type))
    }

    /// The places that are asked for, which Spark's analysis has seen to be constants from 0 to 1.
    fn percentages(self) -> Result<Vec<f64>> {
        let unsupported = || Unsupported::of_use("percentiles at no constant places");
        let double = |literal: &Literal| match literal {
            Literal::Double(place) if (0.0..=1.0).contains(place) => Ok(*place),
            _ => Err(unsupported()),
        };
        match self.arg("percentageExpression")?.kind {
            ExprKind::Literal(Literal::Array(places)) if !places.is_empty() => {
                places.iter().map(double).collect()
            }
            ExprKind::Literal(place) => Ok(vec![double(&place)?]),
            _ => Err(unsupported()),
        }
    }

    fn percentile(self, name: &str) -> Result<Parts> {
        let known = [
            "child",
            "percentageExpression",
            "frequencyExpression",
            "accuracyExpression",
            "reverse",
            "legacyCalculation",
            // Lazy, of the expressions above.
            "accuracy",
            "accuracyNum",
            "internalDataType",
            "percentages",
            "returnPercentileArray",
        ];
        self.only_placed(&known)?;
        let child = self.arg("child")?;
        let places = self.arg("percentageExpression")?.data_type;
        let approximate = name == "ApproximatePercentile";
        let of = match approximate {
            true => child.data_type.clone(),
            false => DataType::Double,
        };
        let data_type = match places {
            DataType::Array { .. } => DataType::Array {
                element: Box::new(of),
                contains_null: false,
            },
            _ => of,
        };
        if approximate {
            let accuracy = match self.arg("accuracyExpression")?.kind {
                ExprKind::Literal(Literal::Byte(of)) => Some(i32::from(of)),
                ExprKind::Literal(Literal::Short(of)) => Some(i32::from(of)),
                ExprKind::Literal(Literal::Integer(of)) => Some(of),
                ExprKind::Literal(Literal::Long(of)) => i32::try_from(of).ok(),
                _ => None,
            };
            let accuracy = accuracy.filter(|accuracy| *accuracy > 0);
            let accuracy = accuracy
                .ok_or_else(|| Unsupported::of_use("ApproximatePercentile without accuracy"))?;
            return Ok((
                AggregateKind::ApproxPercentile { accuracy },
                vec![child],
                data_type,
            ));
        }
        let between = match (name, self.object.flag("legacyCalculation")) {
            ("Percentile", _) => match self.reader.settings.spark {
                (0, 0) => {
                    return Err(Unsupported::of_use("percentiles of an unknown Spark"));
                }
                (4, 3..) | (5.., _) => Between::LineFromLower,
                _ => Between::Line,
            },
            (_, false) => Between::First,
            (_, true) => Between::Lower,
        };
        let kind = AggregateKind::Percentile {
            reverse: self.object.bool("reverse")?,
            between,
        };
        Ok((
            kind,
            vec![child, self.arg("frequencyExpression")?],
            data_type,
        ))
    }

    /// The values of which a pivot makes elements. Others than these types are looked up in other ways.
    fn pivots(self) -> Result<Vec<Literal>> {
        let of = self.arg("pivotColumn")?.data_type;
        if !of.is_exact() {
            return Err(Unsupported::of_use(format!("PivotFirst by {of}")));
        }
        let values = self.object.elements("pivotColumnValues")?.into_iter();
        let values = values.map(|value| Literal::read(self.reader, value, &of));
        let values = values.collect::<Result<Vec<_>>>()?;
        let twice = |at: usize, value| values.iter().skip(at + 1).any(|other| other == value);
        if values
            .iter()
            .enumerate()
            .any(|(at, value)| twice(at, value))
        {
            return Err(Unsupported::of_use(
                "PivotFirst by a value that is there twice",
            ));
        }
        Ok(values)
    }

    fn pivot_first(self) -> Result<Parts> {
        self.only_placed(&[
            "pivotColumn",
            "valueColumn",
            "pivotColumnValues",
            "left",
            "right",
            "nullable",
            "valueDataType",
            "dataType",
            "usesTreeMap",
            "pivotIndex",
            "slotOfValue",
            "slotValues",
            "indexSize",
            "updateRow",
            "aggBufferSchema",
            "inputAggBufferAttributes",
        ])?;
        let (by, value) = (self.arg("pivotColumn")?, self.arg("valueColumn")?);
        let data_type = DataType::Array {
            element: Box::new(value.data_type.clone()),
            contains_null: true,
        };
        Ok((AggregateKind::PivotFirst, vec![by, value], data_type))
    }

    fn delimiter(self) -> Result<Literal> {
        match self.arg("delimiter")?.kind {
            ExprKind::Literal(text @ (Literal::String(_) | Literal::Null)) => Ok(text),
            _ => Err(Unsupported::of_use("ListAgg with a variable delimiter")),
        }
    }

    fn list_agg(self) -> Result<Parts> {
        // Two of the fields are lazy, of the others.
        self.only_placed(&[
            "child",
            "delimiter",
            "orderExpressions",
            "bufferElementType",
            "needSaveOrderValue",
            "OrderDeterminismResult$module",
        ])?;
        let child = self.arg("child")?;
        let orders = self.object.elements("orderExpressions")?;
        let orders = read_sort_orders(self.reader, orders)?;
        let (order, mut args) = match orders.as_slice() {
            [] => (ListOrder::None, vec![]),
            [by] if by.child == child => {
                let descending = !by.ascending;
                (ListOrder::Texts { descending }, vec![])
            }
            [by] => {
                let order = ListOrder::Key {
                    descending: !by.ascending,
                    nulls_first: by.nulls_first,
                };
                (order, vec![by.child.clone()])
            }
            _ => return Err(Unsupported::of_use("ListAgg by several keys")),
        };
        args.insert(0, child);
        Ok((AggregateKind::ListAgg { order }, args, DataType::String))
    }

    fn bloom_filter(self) -> Result<Parts> {
        self.only_placed(&[
            "child",
            "estimatedNumItems",
            "numBits",
            "estimatedNumItemsExpression",
            "numBitsExpression",
            "updater",
        ])?;
        // Lazy, and evaluated when the plan was checked.
        let kind = AggregateKind::BloomFilter {
            estimated_items: self.object.long("estimatedNumItems")?,
            bits: self.object.long("numBits")?,
        };
        Ok((kind, vec![self.arg("child")?], DataType::Binary))
    }
}

/// Whose collections wrote the plan.
fn scala_version(reader: &Reader<'_>) -> Result<ScalaVersion> {
    let classes = reader
        .graph
        .nodes()
        .filter_map(|(id, _)| reader.graph.desc(id));
    let mut versions = classes.filter_map(|class| match class.name() {
        "scala.collection.generic.DefaultSerializationProxy"
        | "scala.runtime.ModuleSerializationProxy" => Some(ScalaVersion::V2_13),
        "scala.collection.immutable.List$SerializationProxy"
        | "scala.collection.immutable.Nil$" => Some(ScalaVersion::V2_12),
        _ => None,
    });
    let version = versions.next();
    version.ok_or_else(|| Unsupported::of_use("a plan of no known version of Scala"))
}

fn sum_type(of: &DataType) -> DataType {
    match of {
        DataType::Decimal(d) => {
            let precision = i32::from(d.precision) + 10;
            DataType::Decimal(Decimal::fit(precision, d.scale.into(), false))
        }
        DataType::Byte | DataType::Short | DataType::Integer | DataType::Long => DataType::Long,
        DataType::YearMonthInterval | DataType::DayTimeInterval => of.clone(),
        _ => DataType::Double,
    }
}

fn average_type(of: &DataType) -> DataType {
    match of {
        DataType::Decimal(d) => {
            let precision = i32::from(d.precision) + 4;
            DataType::Decimal(Decimal::fit(precision, i32::from(d.scale) + 4, false))
        }
        DataType::YearMonthInterval | DataType::DayTimeInterval => of.clone(),
        _ => DataType::Double,
    }
}
