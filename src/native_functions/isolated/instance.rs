//! A function that was bound in a process of its own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchReader, UInt32Array};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, Fields};

use super::super::error::FunctionError;
use super::super::host::TaskFacts;
use super::super::instance::bound_types;
use super::super::library::Kind;
use super::super::marker::Marker;
use super::columns;
use super::message::{Binding, Reply, Request};
use super::pool::{Isolated, Lease};
use super::side::KeptMemory;
use super::worker::{Columns, Gone, Worker};
use crate::cancel::{Cancellation, HookGuard};

/// How long a function may take to forget what it has.
const UNBINDING: Duration = Duration::from_secs(5);

/// The number of the next instance.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A function of a process, bound for one task. Used as an [`Instance`](super::super::Instance).
#[derive(Debug)]
pub(in super::super) struct IsolatedInstance {
    place: Place,
    pub(in super::super) kind: Kind,
    pub(in super::super) arguments: Fields,
    pub(in super::super) result: DataType,
}

/// Where an instance is; it is forgotten there when this is dropped.
#[derive(Debug)]
struct Place {
    lease: Arc<Lease>,
    number: u64,
    /// `function 'f' of lib.so (m 1.0)`
    title: String,
    cancellation: Cancellation,
    /// Tells the process that the task was cancelled.
    _hook: HookGuard,
}

impl Place {
    /// Has something done in the process.
    ///
    /// # Errors
    /// It fails, or the process ends.
    fn call(
        &self,
        request: &Request,
        columns: &Columns<'_>,
    ) -> Result<(Reply, Buffer), FunctionError> {
        let called = self.lease.with(|worker| {
            let called = worker.call(request, columns, (&self.cancellation, None));
            called.map_err(|gone| self.gone(gone))
        });
        match called.unwrap_or_else(|| Err(self.crashed("its process has ended")))? {
            (Reply::Failed { how, words }, _) => Err(how.error(words)),
            reply => Ok(reply),
        }
    }

    fn crashed(&self, how: &str) -> FunctionError {
        FunctionError::Crashed(format!("{} crashed: {how}", self.title))
    }

    fn gone(&self, gone: Gone) -> FunctionError {
        match gone {
            Gone::Crashed(how) => self.crashed(&how),
            Gone::Cancelled => FunctionError::Cancelled(self.title.clone()),
            Gone::Columns(why) => {
                FunctionError::of(&self.title, format!("is not given rows: {why}"))
            }
        }
    }

    /// The columns that came with a reply, which are these and have so many rows.
    fn columns(
        &self,
        of: &Fields,
        rows: usize,
        bytes: Buffer,
    ) -> Result<RecordBatch, FunctionError> {
        let failed = |why: String| FunctionError::of(&self.title, why);
        let batch = columns::read(bytes, of).map_err(failed)?;
        match batch.num_rows() == rows {
            true => Ok(batch),
            false => Err(failed(format!(
                "gave {} rows and not {rows}",
                batch.num_rows()
            ))),
        }
    }

    fn odd_reply(&self) -> FunctionError {
        FunctionError::of(&self.title, "gave an answer to another question")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let instance = self.number;
        // What remains of a process that has ended is nothing.
        let _ = self.lease.with(|worker| {
            worker.side.remove(instance);
            let limit = (&self.cancellation, Some(UNBINDING));
            worker.call(&Request::Unbind { instance }, &Columns::None, limit)
        });
    }
}

impl IsolatedInstance {
    /// Binds a function of a library's file, or says why it cannot be called. `input` are the columns of the rows that
    /// it is given, if it is one of partitions.
    ///
    /// # Errors
    /// It fails, or its process ends.
    pub(in super::super) fn bind(
        isolated: &Arc<Isolated>,
        (path, marker): (&Path, &Marker),
        input: Option<&Fields>,
        facts: TaskFacts,
    ) -> Result<Result<Self, String>, FunctionError> {
        let binding = Binding {
            instance: 0,
            library: path.to_string_lossy().into_owned(),
            marker: marker.clone(),
            time_zone: facts.time_zone,
            ansi: facts.ansi,
            stage_id: facts.stage_id,
            partition_id: facts.partition_id,
            attempt_number: facts.attempt_number,
            task_attempt_id: facts.task_attempt_id,
        };
        let binds = Binds {
            title: marker.title(),
            input: input.cloned().unwrap_or_else(Fields::empty),
            kept: KeptMemory::new(facts.memory),
            cancellation: facts.cancellation,
        };
        let started = |started: std::io::Result<Arc<Lease>>| {
            started.map_err(|why| FunctionError::of(&binds.title, format!("has no process: {why}")))
        };
        let task = binding.task_attempt_id;
        let shared = binds.bind(&started(isolated.of_task(task))?, binding)?;
        let (instance, binding) = match shared {
            Ok((Kind::Partition | Kind::Table, instance, binding)) => (instance, binding),
            Ok((_, instance, _)) => return Ok(Ok(instance)),
            Err(why) => return Ok(Err(why)),
        };
        // It asks for rows while it is called, of what other functions in that process may have to make them: it has
        // one for itself, which may be the same if there are no others.
        drop(instance);
        let own = binds.bind(&started(isolated.own())?, binding)?;
        Ok(own.map(|(_, instance, _)| instance))
    }

    /// As [`Instance::execute`](super::super::Instance::execute).
    ///
    /// # Errors
    /// The function fails, or its process ends.
    pub(in super::super) fn execute(
        &mut self,
        arguments: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef, FunctionError> {
        if rows == 0 {
            return Ok(arrow::array::new_empty_array(&self.result));
        }
        let batch = self.batch(&self.arguments, arguments.to_vec(), rows)?;
        let instance = self.place.number;
        self.value(
            &Request::Execute { instance, rows },
            &Columns::Batch(&batch),
            rows,
        )
    }

    /// As [`Instance::update`](super::super::Instance::update).
    ///
    /// # Errors
    /// The function fails, or its process ends.
    pub(in super::super) fn update(
        &mut self,
        arguments: &[ArrayRef],
        of: &UInt32Array,
        groups: u32,
    ) -> Result<(), FunctionError> {
        let rows = of.len();
        let fields = with_groups(&self.arguments);
        let groups_of: ArrayRef = Arc::new(of.clone());
        let columns = arguments.iter().cloned().chain([groups_of]).collect();
        let batch = self.batch(&fields, columns, rows)?;
        let instance = self.place.number;
        let request = Request::Update {
            instance,
            rows,
            groups,
        };
        match self.place.call(&request, &Columns::Batch(&batch))? {
            (Reply::Done, _) => Ok(()),
            _ => Err(self.place.odd_reply()),
        }
    }

    /// As [`Instance::finish`](super::super::Instance::finish).
    ///
    /// # Errors
    /// The function fails, or its process ends.
    pub(in super::super) fn finish(&mut self, groups: u32) -> Result<ArrayRef, FunctionError> {
        let instance = self.place.number;
        self.value(
            &Request::Finish { instance, groups },
            &Columns::None,
            groups as usize,
        )
    }

    /// As [`Instance::open`](super::super::Instance::open).
    ///
    /// # Errors
    /// The function fails, or its process ends.
    pub(in super::super) fn open(
        self,
        input: Box<dyn RecordBatchReader + Send>,
    ) -> Result<IsolatedRows, FunctionError> {
        let DataType::Struct(fields) = self.result else {
            return Err(FunctionError::of(&self.place.title, "is of another kind"));
        };
        let instance = self.place.number;
        let mut rows = IsolatedRows {
            place: self.place,
            fields,
            input,
        };
        match rows.ask(&Request::Open { instance })? {
            (Reply::Done, _) => Ok(rows),
            _ => Err(rows.place.odd_reply()),
        }
    }

    fn batch(
        &self,
        fields: &Fields,
        columns: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<RecordBatch, FunctionError> {
        let batch = columns::batch(fields, columns, rows);
        batch.map_err(|why| {
            FunctionError::of(&self.place.title, format!("is given other columns: {why}"))
        })
    }

    fn value(
        &self,
        request: &Request,
        columns: &Columns<'_>,
        rows: usize,
    ) -> Result<ArrayRef, FunctionError> {
        let (Reply::Columns { .. }, bytes) = self.place.call(request, columns)? else {
            return Err(self.place.odd_reply());
        };
        let of = Fields::from(vec![Field::new("", self.result.clone(), true)]);
        let batch = self.place.columns(&of, rows, bytes)?;
        let column = batch.columns().first().cloned();
        column.ok_or_else(|| self.place.odd_reply())
    }
}

/// The arguments of an aggregate's rows, and the number of each row's group.
pub(super) fn with_groups(arguments: &Fields) -> Fields {
    let groups = Field::new("group", DataType::UInt32, false);
    arguments
        .iter()
        .cloned()
        .chain([Arc::new(groups)])
        .collect()
}

/// For whom a function is bound, in one process or another.
struct Binds {
    title: String,
    input: Fields,
    kept: Arc<KeptMemory>,
    cancellation: Cancellation,
}

/// A function that was bound, of which kind it is, and as what; or why it is not.
type Bound = Result<(Kind, IsolatedInstance, Binding), String>;

impl Binds {
    fn bind(&self, lease: &Arc<Lease>, binding: Binding) -> Result<Bound, FunctionError> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let ended =
            || FunctionError::Crashed(format!("{} crashed: its process has ended", self.title));
        let side =
            lease.with(|worker: &mut Worker| Ok::<_, FunctionError>(Arc::clone(&worker.side)));
        let side = side.ok_or_else(ended)??;
        side.add(number, Arc::clone(&self.kept));
        let hook = self.cancellation.on_cancel(move |_| side.cancel(number));
        let mut place = Place {
            lease: Arc::clone(lease),
            number,
            title: self.title.clone(),
            cancellation: self.cancellation.clone(),
            _hook: hook,
        };
        let request = Request::Bind(Box::new(Binding {
            instance: number,
            ..binding
        }));
        let (reply, _) = place.call(&request, &Columns::Schema(&self.input))?;
        let Request::Bind(binding) = request else {
            return Err(place.odd_reply());
        };
        match reply {
            Reply::Bound {
                kind,
                signature,
                title,
            } => {
                let input = (kind == Kind::Partition).then_some(&self.input);
                let (arguments, result) =
                    bound_types(kind, &signature, input, (&title, &binding.time_zone))?;
                place.title = title;
                let instance = IsolatedInstance {
                    place,
                    kind,
                    arguments,
                    result,
                };
                Ok(Ok((kind, instance, *binding)))
            }
            Reply::Left { why } => Ok(Err(why)),
            _ => Err(place.odd_reply()),
        }
    }
}

/// Rows that come out of a partition function.
pub(in super::super) struct IsolatedRows {
    place: Place,
    fields: Fields,
    input: Box<dyn RecordBatchReader + Send>,
}

impl IsolatedRows {
    /// As [`OutputStream::next_rows`](super::super::OutputStream::next_rows).
    ///
    /// # Errors
    /// The function fails, or its process ends.
    pub(in super::super) fn next_rows(&mut self) -> Result<Option<RecordBatch>, FunctionError> {
        let instance = self.place.number;
        match self.ask(&Request::Next { instance })? {
            (Reply::End, _) => Ok(None),
            (Reply::Columns { rows }, bytes) => {
                self.place.columns(&self.fields, rows, bytes).map(Some)
            }
            _ => Err(self.place.odd_reply()),
        }
    }

    /// Has something done in the process, and gives it the rows that it asks for meanwhile.
    fn ask(&mut self, request: &Request) -> Result<(Reply, Buffer), FunctionError> {
        let mut reply = self.place.call(request, &Columns::None)?;
        while let (Reply::NeedRows, _) = reply {
            reply = match self.input.next() {
                None => self.place.call(&Request::NoMoreRows, &Columns::None)?,
                Some(Ok(batch)) => {
                    let rows = Request::Rows {
                        rows: batch.num_rows(),
                    };
                    self.place.call(&rows, &Columns::Batch(&batch))?
                }
                Some(Err(why)) => {
                    let why = why.to_string();
                    self.place
                        .call(&Request::RowsFailed { why }, &Columns::None)?
                }
            };
        }
        Ok(reply)
    }
}
