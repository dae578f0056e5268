//! `JsonInferSchema.infer` and `CSVInferSchema.infer`: the jobs that `spark.read.json` without a schema, and
//! `spark.read.csv` with `inferSchema`, run to find out which columns there are and of which types.

use javaser::Closure;

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, ExprId};
use crate::lineage::{Hint, Lineage, Tree};
use crate::object::Object;
use crate::scan::{
    CsvSyntax, Malformed, RecordTimes, check_json_encoding, check_locale, check_one_row,
    csv_syntax, malformed, record_times, size,
};
use crate::types::DataType;

/// The closure and method of the job, and of what a task gives back.
pub(crate) const INFER: (&str, &str) = ("sql.catalyst.json.JsonInferSchema", "infer");

/// The closure and method that cuts the lines of CSV of which types are found out.
pub(crate) const CSV_LINES: (&str, &str) = (
    "sql.execution.datasources.csv.TextInputCSVDataSource$",
    "inferFromDataset",
);

/// How types of the values of lines are found out: what of `CSVOptions` says it.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvInference {
    /// How lines are cut.
    pub syntax: CsvSyntax,
    /// How texts are read as dates and timestamps.
    pub times: RecordTimes,
    /// How many columns there are.
    pub columns: usize,
    /// With [`CsvSyntax::header`], lines that have no values.
    pub first_line: String,
    /// `prefersDate`: whether there are dates.
    pub prefers_date: bool,
}

/// How types of values are found out: what of `JSONOptions` says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonInference {
    /// `mode`
    pub malformed: Malformed,
    /// `columnNameOfCorruptRecord`: the column of texts that are no JSON.
    pub corrupt_record: String,
    /// `primitivesAsString`: numbers and truths are texts.
    pub primitives_as_string: bool,
    /// `spark.sql.caseSensitive`
    pub case_sensitive: bool,
    /// `maxNumLen`: most characters of a number.
    pub max_number: usize,
    /// `maxStringLen`: most characters of a text.
    pub max_text: usize,
}

impl<'g> Lineage<'_, 'g> {
    /// The texts of a job that finds out columns, of which each row has one.
    pub(crate) fn json_inference(
        &mut self,
        infer: &Closure,
        rdd: Object<'g>,
    ) -> Result<(Tree, JsonInference)> {
        let reader = self.reader;
        // Arguments come in another order in some versions.
        let objects = infer.args.iter().filter_map(|arg| reader.expect(*arg).ok());
        let options = objects
            .filter(|object| object.name() == "JsonInferSchema")
            .find_map(|object| object.maybe("options"));
        let inference = self.read_inference(options.ok_or_else(|| infer.unsupported())?)?;
        let texts = of_query(rdd.object("prev")?)?;
        Ok((self.texts(texts, infer)?, inference))
    }

    /// The lines of a job that finds out types of the values in them, of which each row has one. `aggregate` says how,
    /// `lines` cuts them.
    pub(crate) fn csv_inference(
        &mut self,
        aggregate: &Closure,
        lines: &Closure,
        rdd: Object<'g>,
    ) -> Result<(Tree, CsvInference)> {
        let reader = self.reader;
        let [zero, merge, ..] = aggregate.args[..] else {
            return Err(aggregate.unsupported());
        };
        let infer = Closure::read(reader.graph, merge)
            .filter(|infer| infer.name() == ("sql.catalyst.csv.CSVInferSchema", "infer"))
            .ok_or_else(|| aggregate.unsupported())?;
        let unknown = reader.graph.elements(zero).unwrap_or_default();
        for of in &unknown {
            if DataType::read(reader, *of)? != DataType::Null {
                return Err(infer.unsupported());
            }
        }
        let rules = infer.arg(reader, 0)?;
        let inference = self.read_csv_inference(rules, lines, unknown.len())?;
        // Behind it, texts are objects of the JVM.
        let objects = rdd.object("prev")?;
        let of_rows = Closure::in_field(objects, "f")?;
        let of_rows = of_rows.inner(reader.graph).map(|inner| {
            let (class, method) = inner.name();
            ["sql.Dataset", "sql.classic.Dataset"].contains(&class)
                && ["rdd", "materializedRdd"].contains(&method)
        });
        if of_rows != Some(true) {
            return Err(lines.unsupported());
        }
        let objects = of_query(objects.object("prev")?)?;
        let made = Closure::in_field(objects, "f")?;
        let made = made.inner(reader.graph).ok_or_else(|| made.unsupported())?;
        let operator = made.arg(reader, 0)?;
        let text = match operator.name() {
            "DeserializeToObjectExec" => operator.object("deserializer")?,
            _ => return Err(made.unsupported()),
        };
        if text.name() != "Invoke" || text.text("functionName")? != "toString" {
            return Err(made.unsupported());
        }
        Ok((self.texts(objects.object("prev")?, lines)?, inference))
    }

    /// What gives rows of a text each, to the closure `to`.
    fn texts(&mut self, rdd: Object<'g>, to: &Closure) -> Result<Tree> {
        let value = Attribute {
            name: "value".to_owned(),
            data_type: DataType::String,
            nullable: true,
            // Ids of Spark's are not negative.
            id: ExprId { id: -1, jvm_id: 0 },
        };
        let tree = self.rdd(rdd, Hint::output(vec![value]))?;
        match tree.operator.output.require()? {
            [only] if only.data_type == DataType::String => Ok(tree),
            _ => Err(to.unsupported()),
        }
    }

    fn read_csv_inference(
        &self,
        rules: Object<'_>,
        lines: &Closure,
        columns: usize,
    ) -> Result<CsvInference> {
        let reader = self.reader;
        let options = rules.object("options")?;
        check_locale(options)?;
        check_one_row(options)?;
        let times = record_times(reader, options)?;
        // Spark asks whether a text begins with a timestamp.
        if times.timestamp.is_some() || rules.bool("isDefaultNTZ")? {
            return Err(Unsupported::of_use(
                "columns of CSV with other timestamps than casts read",
            ));
        }
        if reader.settings.negative_scales {
            return Err(Unsupported::of_use("decimals of negative scales"));
        }
        let first_line = lines.args.iter().find_map(|arg| {
            let line = reader.graph.scala_option(*arg)??;
            reader.graph.str(line).map(std::borrow::Cow::into_owned)
        });
        Ok(CsvInference {
            syntax: csv_syntax(reader, options)?,
            times,
            columns,
            first_line: first_line.ok_or_else(|| lines.unsupported())?,
            prefers_date: options.bool("preferDate")?,
        })
    }

    fn read_inference(&self, options: Object<'_>) -> Result<JsonInference> {
        for option in ["prefersDecimal", "inferTimestamp", "multiLine"] {
            if options.bool(option)? {
                return Err(Unsupported::of_use(format!(
                    "columns of JSON with {option}"
                )));
            }
        }
        check_one_row(options)?;
        check_json_encoding(options)?;
        Ok(JsonInference {
            malformed: malformed(options)?,
            corrupt_record: options.text("columnNameOfCorruptRecord")?.into_owned(),
            primitives_as_string: options.bool("primitivesAsString")?,
            case_sensitive: self.reader.settings.case_sensitive,
            max_number: size(options, "maxNumLen")?,
            max_text: size(options, "maxStringLen")?,
        })
    }
}

/// The rows of a query that became an RDD.
pub(crate) fn of_query(rdd: Object<'_>) -> Result<Object<'_>> {
    match rdd.name() {
        "SQLExecutionRDD" => rdd.object("sqlRDD"),
        other => Err(Unsupported::Class(other.to_owned())),
    }
}
