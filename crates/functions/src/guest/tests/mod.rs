//! A module that hand-made executors drive through its C functions.

mod aggregates;
mod library;
mod modules;
mod scalars;
mod streams;
mod tasks;

crate::module!(library::module());
