//! What a worker is told before the data: the task's context, files, broadcast variables and the command.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use serde_json::{Map, Value, json};

use super::environment::whole_cpus;
use super::protocol::{ContextForm, UdfForm, WorkerProtocol};
use super::wire::{length, put, special};
use crate::python::PythonFunction;
use crate::task::TaskContext;

/// `PythonEvalType.NON_UDF`: the command is a function over an iterator, with its serializers.
const NON_UDF: i32 = 0;
/// `PythonEvalType.SQL_BATCHED_UDF`: functions over pickled rows.
const SQL_BATCHED_UDF: i32 = 100;
/// `PythonEvalType.SQL_ARROW_BATCHED_UDF`: functions of values, over rows in an Arrow stream.
const SQL_ARROW_BATCHED_UDF: i32 = 101;

/// `PythonEvalType.SQL_TABLE_UDF`: a class that makes rows of pickled rows.
const SQL_TABLE_UDF: i32 = 300;
/// `PythonEvalType.SQL_ARROW_TABLE_UDF`: the same of values, over rows in an Arrow stream.
const SQL_ARROW_TABLE_UDF: i32 = 301;
/// `PythonEvalType.SQL_ARROW_UDTF`: the same of batches (from 4.1 on).
const SQL_ARROW_UDTF: i32 = 302;

/// The `PythonEvalType`s of functions that are given rows and not columns: those of a partition
/// (`SQL_MAP_PANDAS_ITER_UDF`, `SQL_MAP_ARROW_ITER_UDF`), and those of a group (`SQL_GROUPED_MAP_…`,
/// `SQL_COGROUPED_MAP_…`).
const OF_ROWS: [i32; 8] = [205, 207, 201, 206, 209, 210, 215, 216];

/// What a worker does with its input.
#[derive(Debug, Clone, Copy)]
pub(super) enum PythonTask<'a> {
    /// Its function is called with an iterator of all elements.
    Iterate,
    /// Functions are called for rows.
    CallForRows(&'a PythonRowCall),
}

/// Functions that are called for rows.
#[derive(Debug)]
pub struct PythonRowCall {
    /// The functions.
    pub callees: Vec<PythonCallee>,
    /// Artifacts of which session they see, if it has its own.
    pub job_artifact_uuid: Option<String>,
    /// If rows come in an Arrow stream, what workers have to know of it; they are pickled otherwise.
    pub stream: Option<ArrowStream>,
    /// If the only function is a class that makes rows, what workers have to know of it.
    pub table: Option<PythonTable>,
}

/// A class that makes rows, `PythonUDTF`, besides its command and the arguments of its `eval`.
#[derive(Debug, Clone)]
pub struct PythonTable {
    /// Its name.
    pub name: String,
    /// The columns that it makes, as JSON.
    pub schema: String,
    /// What its `analyze` gave, pickled.
    pub analyzed: Option<Vec<u8>>,
    /// Places within the row of a table by whose values its rows are divided.
    pub partition_columns: Vec<usize>,
    /// Places among the values of a row of those that are rows of tables.
    pub table_arguments: Vec<usize>,
}

/// What workers have to know of a stream of rows.
#[derive(Debug)]
pub struct ArrowStream {
    /// A `PythonEvalType`: what functions take and give.
    pub eval_type: i32,
    /// Settings of the session.
    pub settings: Vec<(String, String)>,
    /// The schema of the rows as JSON.
    pub schema: String,
}

impl ArrowStream {
    /// Whether workers look at the schema, as they do for functions of values from 4.1 on.
    fn has_schema(&self) -> bool {
        [SQL_ARROW_BATCHED_UDF, SQL_ARROW_TABLE_UDF].contains(&self.eval_type)
    }

    /// Whether the function is given rows: its arguments have no names.
    fn is_of_rows(&self) -> bool {
        OF_ROWS.contains(&self.eval_type)
    }
}

/// A function that is called for rows, `ChainedPythonFunctions`.
#[derive(Debug, Clone)]
pub struct PythonCallee {
    /// Each is given what the one before it returns.
    pub functions: Vec<Arc<PythonFunction>>,
    /// Places of the first one's arguments among the values of a row, and the names of those that have one.
    pub arguments: Vec<(usize, Option<String>)>,
    /// By what profiles of it are kept.
    pub result_id: i64,
}

/// Where a worker finds a server of the executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerAddress {
    /// A port of the loopback interface, and the secret to tell there.
    Port(u16, String),
    /// A Unix socket, without secret.
    Path(PathBuf),
}

/// What changes among the broadcast variables that a worker has.
#[derive(Debug, Default)]
pub(super) struct BroadcastChanges {
    /// Who sends the values, if the files are encrypted.
    pub(super) server: Option<ServerAddress>,
    /// Variables that the worker no longer needs.
    pub(super) dropped: Vec<i64>,
    /// Variables that it does not have yet, and their files.
    pub(super) added: Vec<(i64, PathBuf)>,
}

/// A task for a worker.
pub(super) struct TaskMessage<'a> {
    pub(super) function: &'a PythonFunction,
    pub(super) task: PythonTask<'a>,
    pub(super) partition_index: i32,
    pub(super) context: &'a TaskContext,
    /// Who answers `BarrierTaskContext` in a barrier stage.
    pub(super) barrier: Option<&'a ServerAddress>,
    pub(super) broadcasts: &'a BroadcastChanges,
}

impl TaskMessage<'_> {
    /// The bytes of the message.
    ///
    /// # Errors
    /// A part is longer than its length can say.
    pub(super) fn encode(&self, protocol: &WorkerProtocol) -> io::Result<BytesMut> {
        let mut out = BytesMut::with_capacity(1024 + self.function.command.len());
        if protocol.init_frame {
            out.put_i32(special::START_OF_INIT_MESSAGE);
            out.put_i32(0);
        }
        let start = out.len();
        out.put_i32(self.partition_index);
        put(&mut out, self.function.python_ver.as_bytes())?;
        match protocol.context {
            ContextForm::Json => put(&mut out, self.context_json(protocol).as_bytes())?,
            form => self.put_context(form, &mut out)?,
        }
        self.put_files(&mut out)?;
        self.put_broadcasts(&mut out)?;
        self.put_task(protocol, &mut out)?;
        if protocol.init_frame {
            let len = length(out.len() - start)?;
            if let Some(place) = out.get_mut(start - 4..start) {
                place.copy_from_slice(&len.to_be_bytes());
            }
        }
        Ok(out)
    }

    /// What is done, with its settings and functions.
    fn put_task(&self, protocol: &WorkerProtocol, out: &mut BytesMut) -> io::Result<()> {
        let stream = match self.task {
            PythonTask::Iterate => {
                out.put_i32(NON_UDF);
                None
            }
            PythonTask::CallForRows(call) => {
                let stream = call.stream.as_ref();
                let pickled = call
                    .table
                    .as_ref()
                    .map_or(SQL_BATCHED_UDF, |_| SQL_TABLE_UDF);
                out.put_i32(stream.map_or(pickled, |stream| stream.eval_type));
                stream
            }
        };
        // Which arguments are batches is asked for where a class makes rows of batches.
        let tables = match self.task {
            PythonTask::CallForRows(PythonRowCall {
                table: Some(table), ..
            }) if stream.is_some_and(|stream| stream.eval_type == SQL_ARROW_UDTF) => {
                Some(&table.table_arguments)
            }
            _ => None,
        };
        match (stream, protocol.conf_maps) {
            (None, false) => {}
            (None, true) => {
                out.put_i32(0);
                out.put_i32(0);
            }
            (Some(stream), false) => {
                put_pairs(&stream.settings, out)?;
                if protocol.settings_of_4_1 && stream.has_schema() {
                    put(out, stream.schema.as_bytes())?;
                }
                if let Some(tables) = tables {
                    put_places(tables, out)?;
                }
            }
            (Some(stream), true) => {
                put_pairs(&stream.settings, out)?;
                let mut told = Vec::new();
                if stream.has_schema() {
                    told.push(("input_type".to_owned(), stream.schema.clone()));
                }
                if let Some(tables) = tables {
                    let places: Vec<_> = tables.iter().map(usize::to_string).collect();
                    told.push(("table_arg_offsets".to_owned(), places.join(",")));
                }
                put_pairs(&told, out)?;
            }
        }
        match self.task {
            PythonTask::Iterate => put(out, &self.function.command),
            PythonTask::CallForRows(PythonRowCall {
                callees,
                table: Some(table),
                ..
            }) => put_table(table, callees, protocol.udf_form, out),
            PythonTask::CallForRows(call) => {
                let named = match protocol.udf_form {
                    UdfForm::Places => false,
                    UdfForm::Profiled => !stream.is_some_and(ArrowStream::is_of_rows),
                    UdfForm::Identified => true,
                };
                put_callees(&call.callees, protocol.udf_form, named, out)
            }
        }
    }

    fn put_context(&self, form: ContextForm, out: &mut BytesMut) -> io::Result<()> {
        let context = self.context;
        out.put_u8(context.is_barrier.into());
        match self.barrier {
            Some(ServerAddress::Port(port, secret)) => {
                out.put_i32((*port).into());
                put(out, secret.as_bytes())?;
            }
            Some(ServerAddress::Path(path)) => {
                out.put_i32(-1);
                put(out, path_bytes(path))?;
            }
            None if form == ContextForm::Fields => {
                out.put_i32(0);
                put(out, b"")?;
            }
            None => {}
        }
        out.put_i32(context.stage_id);
        out.put_i32(context.partition_id);
        out.put_i32(context.attempt_number);
        out.put_i64(context.task_attempt_id);
        out.put_i32(whole_cpus(&context.cpus));
        out.put_i32(length(context.resources.len())?);
        for (name, addresses) in &context.resources {
            put(out, name.as_bytes())?;
            put(out, name.as_bytes())?;
            out.put_i32(length(addresses.len())?);
            for address in addresses {
                put(out, address.as_bytes())?;
            }
        }
        out.put_i32(length(context.local_properties.len())?);
        for (key, value) in &context.local_properties {
            put(out, key.as_bytes())?;
            put(out, value.as_bytes())?;
        }
        Ok(())
    }

    fn context_json(&self, protocol: &WorkerProtocol) -> String {
        let context = self.context;
        let (server, secret) = match self.barrier {
            Some(ServerAddress::Port(port, secret)) => (json!(port), json!(secret)),
            Some(ServerAddress::Path(path)) => (json!(path.to_string_lossy()), Value::Null),
            None => (json!(-1), Value::Null),
        };
        let resources: Map<String, Value> = context
            .resources
            .iter()
            .map(|(name, addresses)| {
                let resource = json!({"name": name, "addresses": addresses});
                (name.clone(), resource)
            })
            .collect();
        let properties: Map<String, Value> = context
            .local_properties
            .iter()
            .map(|(key, value)| (key.clone(), json!(value)))
            .collect();
        let mut object = json!({
            "isBarrier": context.is_barrier,
            "connInfo": server,
            "secret": secret,
            "stageId": context.stage_id,
            "partitionId": context.partition_id,
            "attemptNumber": context.attempt_number,
            "taskAttemptId": context.task_attempt_id,
            "cpus": whole_cpus(&context.cpus),
            "resources": resources,
            "localProperties": properties,
        });
        if let (true, Some(object)) = (protocol.cpu_amount, object.as_object_mut()) {
            object.insert("cpuAmount".to_owned(), json!(context.cpus));
        }
        object.to_string()
    }

    fn put_files(&self, out: &mut BytesMut) -> io::Result<()> {
        put(out, path_bytes(&files_dir(self.function, self.context)))?;
        let mut includes: Vec<&str> = Vec::new();
        for include in &self.function.python_includes {
            if !includes.contains(&include.as_str()) {
                includes.push(include);
            }
        }
        out.put_i32(length(includes.len())?);
        for include in includes {
            put(out, include.as_bytes())?;
        }
        Ok(())
    }

    fn put_broadcasts(&self, out: &mut BytesMut) -> io::Result<()> {
        let changes = self.broadcasts;
        out.put_u8(changes.server.is_some().into());
        out.put_i32(length(changes.dropped.len() + changes.added.len())?);
        match &changes.server {
            Some(ServerAddress::Port(port, secret)) => {
                out.put_i32((*port).into());
                put(out, secret.as_bytes())?;
            }
            Some(ServerAddress::Path(path)) => {
                out.put_i32(-1);
                put(out, path_bytes(path))?;
            }
            None => {}
        }
        for id in &changes.dropped {
            out.put_i64(-id - 1);
        }
        for (id, file) in &changes.added {
            out.put_i64(*id);
            if changes.server.is_none() {
                put(out, path_bytes(file))?;
            }
        }
        Ok(())
    }
}

fn put_pairs(pairs: &[(String, String)], out: &mut BytesMut) -> io::Result<()> {
    out.put_i32(length(pairs.len())?);
    for (key, value) in pairs {
        put(out, key.as_bytes())?;
        put(out, value.as_bytes())?;
    }
    Ok(())
}

/// `PythonUDFRunner.writeUDFs`; `named` if it says of arguments whether they have names.
fn put_callees(
    callees: &[PythonCallee],
    form: UdfForm,
    named: bool,
    out: &mut BytesMut,
) -> io::Result<()> {
    if form == UdfForm::Profiled {
        // There is no profiler.
        out.put_u8(0);
    }
    out.put_i32(length(callees.len())?);
    for callee in callees {
        put_arguments(callee, named, out)?;
        out.put_i32(length(callee.functions.len())?);
        for function in &callee.functions {
            put(out, &function.command)?;
        }
        if form == UdfForm::Identified {
            out.put_i64(callee.result_id);
        }
    }
    Ok(())
}

fn put_arguments(callee: &PythonCallee, named: bool, out: &mut BytesMut) -> io::Result<()> {
    out.put_i32(length(callee.arguments.len())?);
    for (place, name) in &callee.arguments {
        out.put_i32(length(*place)?);
        match (named, name) {
            (false, _) => {}
            (true, None) => out.put_u8(0),
            (true, Some(name)) => {
                out.put_u8(1);
                put(out, name.as_bytes())?;
            }
        }
    }
    Ok(())
}

fn put_places(places: &[usize], out: &mut BytesMut) -> io::Result<()> {
    out.put_i32(length(places.len())?);
    for place in places {
        out.put_i32(length(*place)?);
    }
    Ok(())
}

/// `PythonUDTFRunner.writeUDTF`
fn put_table(
    table: &PythonTable,
    callees: &[PythonCallee],
    form: UdfForm,
    out: &mut BytesMut,
) -> io::Result<()> {
    let other = || io::Error::other("a class of Python among other functions");
    let [callee] = callees else {
        return Err(other());
    };
    let [class] = &callee.functions[..] else {
        return Err(other());
    };
    let named = form != UdfForm::Places;
    put_arguments(callee, named, out)?;
    if named {
        put_places(&table.partition_columns, out)?;
        out.put_u8(table.analyzed.is_some().into());
        if let Some(analyzed) = &table.analyzed {
            put(out, analyzed)?;
        }
    }
    put(out, &class.command)?;
    put(out, table.schema.as_bytes())?;
    match named {
        true => put(out, table.name.as_bytes()),
        false => Ok(()),
    }
}

/// The directory of the files that a function sees.
pub(super) fn files_dir(function: &PythonFunction, context: &TaskContext) -> PathBuf {
    let root = &context.files_dir;
    let root = std::path::absolute(root).unwrap_or_else(|_| root.clone());
    match &function.job_artifact_uuid {
        Some(uuid) => root.join(uuid),
        None => root,
    }
}

fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}
