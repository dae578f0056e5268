//! What event logs of plain Spark jobs say about how much of them would run natively.
//!
//! A [`Log`] reads the lines of an application's log, adds up tasks by stage, ties stages to fragments of plans by the
//! accumulators that their tasks updated, and judges fragments against a [`Table`] of what runs natively, which its
//! user gives. What a log does not tell is counted by itself. [`text`] writes an [`Application`] for people; it is
//! serializable for programs.

#![forbid(unsafe_code)]

mod event;
mod expression;
mod gain;
mod judge;
mod lines;
mod log;
mod names;
mod pieces;
mod plan;
mod rdd;
mod report;
mod sections;
mod table;
mod text;

pub use gain::Gain;
pub use log::Log;
pub use report::{Application, Lines, Query, Reason, Split, Summary};
pub use table::{Cast, Function, Join, Native, Off, Table, Type};
pub use text::{Columns, text};
