//! Functions that do well and badly.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    StructArray,
};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{Float64Type, Int32Type, Int64Type, Schema};
use arrow::error::ArrowError;
use arrow::ffi_stream::ArrowArrayStreamReader;
use arrow::record_batch::{RecordBatchIterator, RecordBatchReader};

use crate::guest::*;

pub(super) fn module() -> Module {
    let with = |name: &str, arguments: &str, result: &str| {
        Declaration::new(name).signature(arguments, result)
    };
    let numbers = |name: &str| with(name, "int", "int");
    Module::new("tests", "1.2.3")
        .scalar(scalar(
            with("add", "int, int", "int")
                .signature("double, double", "double")
                .description("a sum")
                .volatility(Volatility::Stable)
                .nulls(Nulls::Skipped),
            add,
        ))
        .scalar(scalar(numbers("panics"), |_, _| panic!("no {}", "way")))
        .scalar(scalar(numbers("throws"), |_, arguments| {
            std::panic::panic_any(arguments.clone())
        }))
        .scalar(scalar(numbers("fails"), |_, arguments| {
            let failure = Failure::invalid("ééé is out of range").with_sqlstate("22003");
            Err(failure.at_row(arguments.len() - 1))
        }))
        .scalar(scalar(numbers("fewer"), |_, arguments| {
            Ok(arguments.column(0).slice(1, arguments.len() - 1))
        }))
        .scalar(scalar(numbers("other"), |_, arguments| {
            Ok(Arc::new(StringArray::from(vec!["a"; arguments.len()])))
        }))
        .scalar(scalar(numbers("in_thread"), in_thread))
        .scalar(scalar(numbers("in_static"), |_, arguments| {
            static KEPT: Mutex<Vec<ArrayRef>> = Mutex::new(Vec::new());
            KEPT.lock().unwrap().push(arguments.column(0).clone());
            Ok(arguments.column(0).clone())
        }))
        .scalar(scalar(with("rows", "", "bigint"), |_, arguments| {
            let rows = Int64Array::from_value(7, arguments.len());
            Ok(Arc::new(rows))
        }))
        .scalar(scalar(identity(), |_, arguments| {
            Ok(arguments.column(0).clone())
        }))
        .scalar(Binds)
        .scalar(Keeps)
        .aggregate(Sum {
            name: "total",
            keeps: false,
        })
        .aggregate(Sum {
            name: "hoard",
            keeps: true,
        })
        .partition(Doubled)
        .table(Repeat)
}

fn add(_: &Task, arguments: &StructArray) -> Result<ArrayRef, Failure> {
    Ok(numeric::add(arguments.column(0), arguments.column(1))?)
}

fn identity() -> Declaration {
    let declaration = Declaration::new("identity");
    let types = [
        "int",
        "string",
        "boolean",
        "array<string>",
        "map<string,int>",
        "struct<a:int,b:array<double>>",
        "decimal(20,2)",
        "timestamp",
    ];
    types.iter().fold(declaration, |declaration, data_type| {
        declaration.signature(*data_type, *data_type)
    })
}

/// A thread drops what it was given a moment after the result has come.
fn in_thread(_: &Task, arguments: &StructArray) -> Result<ArrayRef, Failure> {
    let (send, receive) = std::sync::mpsc::channel();
    let given = arguments.column(0).clone();
    std::thread::spawn(move || {
        let sum = given
            .as_primitive::<Int32Type>()
            .values()
            .iter()
            .sum::<i32>();
        send.send(sum).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        drop(given);
    });
    let sum = receive.recv().unwrap();
    Ok(Arc::new(Int32Array::from_value(sum, arguments.len())))
}

/// Says what it was bound with, and uses the task.
struct Binds;

impl Scalar for Binds {
    fn declaration(&self) -> Declaration {
        Declaration::new("binds")
            .signature("string, int", "string")
            .signature("string, bigint", "string")
    }

    fn bind(&self, binding: &Binding) -> Result<Box<dyn ScalarInstance>, Failure> {
        if binding.signature() == 1 {
            return Err(Failure::not_applicable("no bigint"));
        }
        assert!(binding.constant(0).is_none() && binding.constant(2).is_none());
        assert_eq!(binding.arguments().len(), 2);
        let constant = binding.constant(1);
        Ok(Box::new(BindsInstance {
            constant: constant.map(|value| value.as_primitive::<Int32Type>().value(0)),
            reserved: Vec::new(),
        }))
    }
}

struct BindsInstance {
    constant: Option<i32>,
    reserved: Vec<Reservation>,
}

impl ScalarInstance for BindsInstance {
    fn execute(&mut self, task: &Task, arguments: &StructArray) -> Result<ArrayRef, Failure> {
        task.check_cancelled()?;
        let commands = arguments.column(0).as_string::<i32>();
        let answers = commands.iter().map(|command| -> Result<String, Failure> {
            match command.unwrap_or_default() {
                "constant" => Ok(format!("{:?}", self.constant)),
                "task" => Ok(format!(
                    "{} {} {:?} {:?} {:?} {:?}",
                    task.time_zone(),
                    task.ansi(),
                    task.stage_id(),
                    task.partition_id(),
                    task.attempt_number(),
                    task.task_attempt_id()
                )),
                "log" => {
                    task.log(Level::Warn, "odd");
                    Ok(String::new())
                }
                "free" => {
                    self.reserved.clear();
                    Ok(String::new())
                }
                bytes => {
                    let mut reservation = task.reserve(bytes.parse().unwrap())?;
                    reservation.resize(reservation.bytes() + 10)?;
                    reservation.resize(reservation.bytes() - 10)?;
                    self.reserved.push(reservation);
                    Ok(format!("{bytes} more"))
                }
            }
        });
        let answers: StringArray = answers.collect::<Result<Vec<_>, _>>()?.into();
        Ok(Arc::new(answers))
    }
}

struct Keeps;

impl Scalar for Keeps {
    fn declaration(&self) -> Declaration {
        Declaration::new("keeps").signature("int", "int")
    }

    fn bind(&self, _: &Binding) -> Result<Box<dyn ScalarInstance>, Failure> {
        Ok(Box::new(KeepsInstance(Vec::new())))
    }
}

struct KeepsInstance(Vec<ArrayRef>);

impl ScalarInstance for KeepsInstance {
    fn execute(&mut self, _: &Task, arguments: &StructArray) -> Result<ArrayRef, Failure> {
        self.0.push(arguments.column(0).slice(1, 1));
        Ok(arguments.column(0).clone())
    }
}

struct Sum {
    name: &'static str,
    keeps: bool,
}

impl Aggregate for Sum {
    fn declaration(&self) -> Declaration {
        Declaration::new(self.name)
            .signature("double", "double")
            .nulls(Nulls::Skipped)
    }

    fn state(&self) -> String {
        "sum:double, count:bigint".into()
    }

    fn bind(&self, _: &Binding) -> Result<Box<dyn AggregateInstance>, Failure> {
        Ok(Box::new(SumInstance {
            groups: Vec::new(),
            kept: self.keeps.then(Vec::new),
        }))
    }
}

struct SumInstance {
    groups: Vec<(f64, i64)>,
    kept: Option<Vec<StructArray>>,
}

impl SumInstance {
    fn keep(&mut self, arrays: &StructArray) {
        if let Some(kept) = &mut self.kept {
            kept.push(arrays.clone());
        }
    }
}

impl AggregateInstance for SumInstance {
    fn update(
        &mut self,
        _: &Task,
        arguments: &StructArray,
        groups: Groups<'_>,
    ) -> Result<(), Failure> {
        self.keep(arguments);
        self.groups.resize(groups.count(), (0.0, 0));
        let values = arguments.column(0).as_primitive::<Float64Type>();
        for (value, group) in values.values().iter().zip(groups.indices()) {
            if value.is_infinite() {
                return Err(Failure::invalid("infinite").with_sqlstate("odd"));
            }
            self.groups[group].0 += value;
            self.groups[group].1 += 1;
        }
        Ok(())
    }

    fn merge(&mut self, _: &Task, states: &StructArray, groups: Groups<'_>) -> Result<(), Failure> {
        self.keep(states);
        self.groups.resize(groups.count(), (0.0, 0));
        let sums = states.column(0).as_primitive::<Float64Type>();
        let counts = states.column(1).as_primitive::<Int64Type>();
        for (row, group) in groups.of_rows().iter().enumerate() {
            let (sum, count) = &mut self.groups[*group as usize];
            *sum += sums.value(row);
            *count += counts.value(row);
        }
        Ok(())
    }

    /// A group of number 9 gets a state of another type.
    fn states(&mut self, _: &Task, count: usize) -> Result<Vec<ArrayRef>, Failure> {
        let sums = self.groups.iter().map(|(sum, _)| *sum);
        let sums = Arc::new(Float64Array::from_iter_values(sums));
        let counts = self.groups.iter().map(|(_, count)| *count);
        let counts: ArrayRef = Arc::new(Int64Array::from_iter_values(counts));
        Ok(match count {
            10 => vec![sums.clone(), sums],
            11 => vec![sums],
            _ => vec![sums, counts],
        })
    }

    fn finish(&mut self, _: &Task, count: usize) -> Result<ArrayRef, Failure> {
        self.groups.resize(count, (0.0, 0));
        let groups = std::mem::take(&mut self.groups).into_iter();
        let sums = groups.map(|(sum, count)| (count > 0).then_some(sum));
        Ok(Arc::new(sums.collect::<Float64Array>()))
    }

    fn size(&self) -> usize {
        match self.groups.len() {
            13 => panic!("size"),
            groups => groups * size_of::<(f64, i64)>(),
        }
    }
}

/// Numbers times two. Some numbers make it do something else.
struct Doubled;

impl Partition for Doubled {
    fn declaration(&self) -> Declaration {
        Declaration::new("doubled").signature("n:int", "twice:int, list:array<int>")
    }

    fn bind(&self, binding: &Binding) -> Result<Box<dyn StreamInstance>, Failure> {
        Ok(Box::new(DoubledInstance(binding.columns())))
    }
}

struct DoubledInstance(arrow::datatypes::Fields);

impl StreamInstance for DoubledInstance {
    fn open(&mut self, task: &Task, input: ArrowArrayStreamReader) -> Result<Batches, Failure> {
        let task = task.clone();
        task.check_cancelled()?;
        if task.stage_id() == Some(99) {
            let schema = Arc::new(Schema::empty());
            return Ok(Box::new(RecordBatchIterator::new(Vec::new(), schema)));
        }
        Ok(by_batch(input, &self.0, move |batch| {
            task.check_cancelled()?;
            let numbers = batch.column(0).as_primitive::<Int32Type>();
            if numbers.values().contains(&-1) {
                return Err(Failure::invalid("nul \0").at_row(1).with_sqlstate("22003"));
            }
            assert!(!numbers.values().contains(&-2), "minus two");
            let twice: Int32Array = numbers.unary(|number| number * 2);
            if numbers.values().contains(&-3) {
                return Ok(vec![Arc::new(twice.clone()), Arc::new(twice)]);
            }
            let mut lists = arrow::array::ListBuilder::new(Int32Array::builder(0));
            twice.iter().for_each(|number| lists.append_value([number]));
            Ok(vec![Arc::new(twice), Arc::new(lists.finish())])
        }))
    }
}

/// A row so many times.
struct Repeat;

impl Table for Repeat {
    fn declaration(&self) -> Declaration {
        Declaration::new("repeat").signature("string, int", "value:string, number:int")
    }

    fn bind(&self, binding: &Binding) -> Result<Box<dyn StreamInstance>, Failure> {
        Ok(Box::new(RepeatInstance(binding.columns())))
    }
}

struct RepeatInstance(arrow::datatypes::Fields);

impl StreamInstance for RepeatInstance {
    fn open(&mut self, _: &Task, input: ArrowArrayStreamReader) -> Result<Batches, Failure> {
        if input.schema().field(0).name() == "backwards" {
            return Ok(backwards(&self.0));
        }
        Ok(by_call(input, &self.0, |arguments: &RecordBatch, row| {
            let value = arguments.column(0).as_string::<i32>();
            let value = value.is_valid(row).then(|| value.value(row).to_owned());
            let times = arguments.column(1).as_primitive::<Int32Type>().value(row);
            if times < 0 {
                return Err(Failure::invalid(format!("{times} times")).at_row(row));
            }
            // Two rows a batch.
            let begins = (0..times).step_by(2);
            Ok(begins.map(move |begin| -> Result<Vec<ArrayRef>, Failure> {
                let numbers = Int32Array::from_iter_values(begin..times.min(begin + 2));
                let values = vec![value.clone(); numbers.len()];
                Ok(vec![Arc::new(StringArray::from(values)), Arc::new(numbers)])
            }))
        }))
    }
}

/// Calls in the wrong order.
fn backwards(columns: &arrow::datatypes::Fields) -> Batches {
    let columns = super::super::stream::columns_of_table(columns);
    let schema = Arc::new(Schema::new(columns));
    let declared = schema.clone();
    let batch = move |call| -> Result<RecordBatch, ArrowError> {
        let arrow::datatypes::DataType::Struct(fields) = declared.field(1).data_type() else {
            return Err(Failure::internal("no struct").into());
        };
        let rows = StructArray::new_null(fields.clone(), 1);
        let rows = StructArray::new(fields.clone(), rows.columns().to_vec(), None);
        let calls = Int64Array::from_value(call, 1);
        RecordBatch::try_new(declared.clone(), vec![Arc::new(calls), Arc::new(rows)])
    };
    Box::new(RecordBatchIterator::new([3, 2].map(batch), schema))
}
