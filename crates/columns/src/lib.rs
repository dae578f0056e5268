//! Batches of columns as compact bytes: what native executors send each other through shuffles, instead of rows.
//!
//! A *frame* holds rows of one reducer, column by column. It says itself what types its columns have, so whoever needs
//! the rows, such as a block server that is asked by a plain Spark executor, can make them without the plan
//! ([`frame_rows`]).
//!
//! ```text
//! frame   := rows: varint · number of columns: varint · column…
//! column  := type · bytes of the payload: varint · payload
//! type    := code: u8 · for decimals: precision: u8, scale: u8
//! payload := 0 · content  |  1 · bytes of the content: varint · content as one LZ4 block
//! content := 0 · values  |  1, all are null  |  2 · a bit for each row, set where there is a value · values
//! ```
//! What *values* are depends on the type:
//!
//! * [`numbers`] are offsets from the smallest one, in as few bits as the largest needs; or differences of neighbours,
//!   runs, or places in a dictionary, where that is shorter.
//! * Text and binary columns are lengths and bytes; or a dictionary and places in it.
//! * Decimals of more than 18 digits are numbers if all of them are short enough, and else 16 bytes each.
//!
//! Numbers that are null are as their neighbours are, so that they cost nothing.
//!
//! Nested types have no frames: rows with them are sent as rows.

#![forbid(unsafe_code)]

mod bits;
mod column;
mod decode;
mod frame;
#[cfg(fuzzing)]
pub mod fuzzing;
mod input;
mod numbers;
mod scatter;
mod text;
mod types;

pub use decode::Decoder;
pub use frame::{MAX_ROWS, frame_rows};
pub use input::Damaged;
pub use scatter::Scatter;
pub use types::ColumnTypes;

#[cfg(test)]
mod tests;
