//! What workers compute of an operator: some of its functions, with what these are given.

use std::sync::Arc;

use arrow::array::ArrayRef;
use bytes::Bytes;
use catalyst::{ArrowSession, ArrowUdf, DataType, PythonForm, TableForm};
use datafusion_common::Result as DataFusionResult;
use datafusion_physical_expr::PhysicalExpr;
use rows::error::bail_out;

use super::pickle::RowPickler;
use super::stream::{self, ArrowDecoder, ArrowEncoder};
use super::{Plan, check, conversion, results};
use crate::lower::Result;
use crate::sources::{PythonCall, PythonCallee, PythonRows, PythonTable, Sources};
use crate::type_json::json_of_row;

/// How rows are given to the functions.
pub(super) enum Format {
    Pickled(RowPickler),
    Arrow {
        /// A `PythonEvalType`.
        eval_type: i32,
        /// Whether functions do not see how long batches are.
        divides: bool,
        /// Types of the arguments.
        types: Vec<DataType>,
        /// If the plan has it.
        session: Option<ArrowSession>,
    },
}

impl Format {
    pub(super) fn new(form: &PythonForm, types: Vec<DataType>) -> Result<Self> {
        Ok(match form {
            PythonForm::Pickled { binary_as_bytes } => {
                Self::Pickled(RowPickler::new(types, *binary_as_bytes)?)
            }
            PythonForm::Arrow { kind, session } => {
                types.iter().try_for_each(|of| check(form, of))?;
                Self::Arrow {
                    eval_type: kind.eval_type(),
                    divides: *kind == ArrowUdf::Values,
                    types,
                    session: session.clone(),
                }
            }
        })
    }

    /// Of a class that makes rows.
    pub(super) fn of_table(form: &TableForm, types: Vec<DataType>) -> Result<Self> {
        let (session, divides) = match form {
            TableForm::Pickled { binary_as_bytes } => {
                return Ok(Self::Pickled(RowPickler::new(types, *binary_as_bytes)?));
            }
            TableForm::Values(session) => (session, true),
            TableForm::Batches(session) => (session, false),
        };
        types.iter().try_for_each(conversion::check)?;
        Ok(Self::Arrow {
            eval_type: form.eval_type(),
            divides,
            types,
            session: Some(session.clone()),
        })
    }
}

/// Functions that a worker is to compute for rows.
pub(super) struct WorkerCall {
    pub(super) callees: Vec<PythonCallee>,
    pub(super) job_artifact_uuid: Option<String>,
    /// If it is one that makes rows, what it is.
    pub(super) table: Option<PythonTable>,
    /// What they are given, each value once.
    pub(super) arguments: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) format: Format,
    /// Types of their results.
    pub(super) results: Vec<DataType>,
}

impl Plan {
    /// The call of the functions of these places, with only what these are given.
    pub(super) fn call_of(&self, places: &[usize]) -> DataFusionResult<WorkerCall> {
        let missing = || bail_out("a function that is missing");
        let mut used = Vec::new();
        let (mut callees, mut results) = (Vec::new(), Vec::new());
        for place in places {
            let mut callee = self.callees.get(*place).ok_or_else(missing)?.clone();
            for (argument, _) in &mut callee.arguments {
                let own = used.iter().position(|other| other == argument);
                let own = own.unwrap_or_else(|| {
                    used.push(*argument);
                    used.len() - 1
                });
                *argument = own;
            }
            callees.push(callee);
            results.push(self.results.get(*place).ok_or_else(missing)?.clone());
        }
        let types = used
            .iter()
            .map(|place| self.argument_types.get(*place).cloned());
        let types = types.collect::<Option<_>>().ok_or_else(missing)?;
        let arguments = used.iter().map(|place| self.arguments.get(*place).cloned());
        let format = Format::new(&self.form, types);
        Ok(WorkerCall {
            callees,
            job_artifact_uuid: self.job_artifact_uuid.clone(),
            table: None,
            arguments: arguments.collect::<Option<_>>().ok_or_else(missing)?,
            format: format.map_err(|why| bail_out(why.to_string()))?,
            results,
        })
    }
}

impl WorkerCall {
    /// For a task: the call, and what makes its frames and reads those of results.
    pub(super) fn open(
        &self,
        sources: &dyn Sources,
    ) -> DataFusionResult<(PythonCall, Encoder, Decoder)> {
        let call = |rows| PythonCall {
            callees: self.callees.clone(),
            job_artifact_uuid: self.job_artifact_uuid.clone(),
            rows,
            table: self.table.clone(),
        };
        let Format::Arrow {
            eval_type,
            divides,
            types,
            session,
        } = &self.format
        else {
            let open = Encoder::Pickled { open: None };
            let decoder = Decoder::Pickled(sources.java_major());
            return Ok((call(PythonRows::Pickled), open, decoder));
        };
        let session = match session {
            Some(session) => session.clone(),
            None => sources.arrow_session()?,
        };
        // Also for those that only come back: workers read times of no zone in that of the session.
        stream::zone_of(&session, &self.results)?;
        let encoder = ArrowEncoder::new(*divides, types, &session)?;
        let decoder = match self.table {
            None => ArrowDecoder::new(&self.results)?,
            Some(_) => ArrowDecoder::of_fields(&self.results)?,
        };
        let rows = PythonRows::Arrow {
            eval_type: *eval_type,
            settings: session.settings,
            schema: json_of_row(types),
        };
        let (encoder, decoder) = (Box::new(encoder), Box::new(decoder));
        Ok((call(rows), Encoder::Arrow(encoder), Decoder::Arrow(decoder)))
    }
}

/// What makes frames of the arguments of batches.
pub(super) enum Encoder {
    Pickled {
        /// The arguments of a batch, and how many of its rows are in frames.
        open: Option<(Vec<ArrayRef>, usize, usize)>,
    },
    Arrow(Box<ArrowEncoder>),
}

/// What makes columns of frames of results.
pub(super) enum Decoder {
    /// With the version of Java that would read them.
    Pickled(u32),
    Arrow(Box<ArrowDecoder>),
}

impl Decoder {
    /// Columns, how many rows they have, and bytes that they took, as Spark counts them.
    pub(super) fn columns(
        &mut self,
        types: &[DataType],
        frame: Bytes,
    ) -> DataFusionResult<Option<stream::Results>> {
        match self {
            Self::Pickled(java_major) => {
                let (columns, rows) = results::columns(&frame, types, *java_major)?;
                Ok(Some((columns, rows, frame.len())))
            }
            Self::Arrow(decoder) => decoder.push(frame),
        }
    }
}
