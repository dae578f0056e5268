//! Typed reads of object streams: any type may meet any stream.
#![no_main]

use std::collections::HashMap;

use javaser::types::{
    Body, External, JavaBytes, JavaEnum, Raw, ScalaEnumeration, ScalaModule, ScalaOption, Throwable,
};
use javaser::{Limits, from_slice};
use serde::Deserialize;

/// Every wrapper, under names that real streams contain.
#[derive(Deserialize)]
#[serde(default)]
#[allow(dead_code, non_snake_case)]
#[derive(Default)]
struct Fields {
    #[serde(rename = "$body")]
    body: Option<Body<External>>,
    state: Option<ScalaEnumeration>,
    data: Option<External>,
    resources: HashMap<String, Raw>,
    attributes: HashMap<String, String>,
    executorId: String,
    taskId: i64,
    sparkProperties: Vec<(String, String)>,
    ioEncryptionKey: ScalaOption<JavaBytes>,
    moduleClass: Option<String>,
    exception: Option<Throwable>,
    unit: Option<JavaEnum>,
    value: Option<Box<Fields>>,
}

#[derive(Deserialize)]
#[allow(dead_code)]
enum Variants {
    #[serde(rename = "scala.Some")]
    Some { value: Raw },
    #[serde(rename = "scala.None$")]
    None,
    #[serde(rename = "java.lang.Throwable")]
    Throwable(Throwable),
}

firesteel_fuzz::target!(|data: &[u8]| {
    let limits = Limits::default();
    let _ = from_slice::<serde_json::Value>(data, &limits);
    let _ = from_slice::<Fields>(data, &limits);
    let _ = from_slice::<Variants>(data, &limits);
    let _ = from_slice::<Raw>(data, &limits);
    let _ = from_slice::<ScalaModule>(data, &limits);
    let _ = from_slice::<Throwable>(data, &limits);
    let _ = from_slice::<HashMap<String, i64>>(data, &limits);
    let _ = from_slice::<Vec<f64>>(data, &limits);
});
