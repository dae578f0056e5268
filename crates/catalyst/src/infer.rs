//! `JsonInferSchema.infer`: the job that `spark.read.json` without a schema runs to find out which columns there are.

use javaser::Closure;

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, ExprId};
use crate::lineage::{Hint, Lineage, Tree};
use crate::object::Object;
use crate::scan::{Malformed, check_json_encoding, check_one_row, malformed, size};
use crate::types::DataType;

/// The closure and method of the job, and of what a task gives back.
pub(crate) const INFER: (&str, &str) = ("sql.catalyst.json.JsonInferSchema", "infer");

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
        let texts = rdd.object("prev")?;
        if texts.name() != "SQLExecutionRDD" {
            return Err(Unsupported::Class(texts.name().to_owned()));
        }
        let value = Attribute {
            name: "value".to_owned(),
            data_type: DataType::String,
            nullable: true,
            // Ids of Spark's are not negative.
            id: ExprId { id: -1, jvm_id: 0 },
        };
        let tree = self.rdd(texts.object("sqlRDD")?, Hint::output(vec![value]))?;
        match tree.operator.output.require()? {
            [only] if only.data_type == DataType::String => Ok((tree, inference)),
            _ => Err(infer.unsupported()),
        }
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
