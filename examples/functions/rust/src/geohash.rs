//! `geohash(latitude, longitude, precision)`: a place on Earth as a short text. Places whose texts begin alike are near
//! each other.

use std::sync::Arc;

use functions::arrow::array::{Array, ArrayRef, AsArray, StringBuilder, StructArray};
use functions::arrow::datatypes::{Float64Type, Int32Type};
use functions::guest::{Declaration, Failure, Nulls, Task};

const DIGITS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
/// More digits say no more about a place: the cells are smaller than what doubles tell apart.
const MOST_DIGITS: i32 = 12;
/// SQLSTATE of a numeric value out of range.
const OUT_OF_RANGE: &str = "22003";

pub(crate) fn declaration() -> Declaration {
    Declaration::new("geohash")
        .description("The geohash of a latitude and a longitude, with 1 to 12 digits")
        .signature("double, double, int", "string")
        .nulls(Nulls::Skipped)
}

pub(crate) fn geohash(_task: &Task, arguments: &StructArray) -> Result<ArrayRef, Failure> {
    let latitudes = arguments.column(0).as_primitive::<Float64Type>().values();
    let longitudes = arguments.column(1).as_primitive::<Float64Type>().values();
    let precisions = arguments.column(2).as_primitive::<Int32Type>().values();
    let mut result = StringBuilder::with_capacity(arguments.len(), arguments.len() * 8);
    let places = latitudes.iter().zip(longitudes).zip(precisions);
    for (row, ((latitude, longitude), precision)) in places.enumerate() {
        let failure = |message: String| {
            let failure = Failure::invalid(message).with_sqlstate(OUT_OF_RANGE);
            Err(failure.at_row(row))
        };
        // A NaN is in no range.
        if !(-90.0..=90.0).contains(latitude) {
            return failure(format!("latitude {latitude} is not from -90 to 90"));
        }
        if !(-180.0..=180.0).contains(longitude) {
            return failure(format!("longitude {longitude} is not from -180 to 180"));
        }
        if !(1..=MOST_DIGITS).contains(precision) {
            return failure(format!(
                "precision {precision} is not from 1 to {MOST_DIGITS}"
            ));
        }
        append(&mut result, *latitude, *longitude, *precision);
    }
    Ok(Arc::new(result.finish()))
}

/// Bits say in turn in which half of what is left of the globe the place is, by longitude first; five are a digit.
fn append(result: &mut StringBuilder, latitude: f64, longitude: f64, precision: i32) {
    let mut longitudes = Range(-180.0, 180.0);
    let mut latitudes = Range(-90.0, 90.0);
    let mut text = String::new();
    let mut by_longitude = true;
    for _ in 0..precision {
        let mut digit = 0;
        for _ in 0..5 {
            let upper = match by_longitude {
                true => longitudes.halve(longitude),
                false => latitudes.halve(latitude),
            };
            digit = digit << 1 | usize::from(upper);
            by_longitude = !by_longitude;
        }
        text.extend(DIGITS.get(digit).copied().map(char::from));
    }
    result.append_value(text);
}

struct Range(f64, f64);

impl Range {
    /// Keeps the half that the value is in: whether it is the upper one.
    fn halve(&mut self, value: f64) -> bool {
        let middle = f64::midpoint(self.0, self.1);
        let upper = value >= middle;
        match upper {
            true => self.0 = middle,
            false => self.1 = middle,
        }
        upper
    }
}

#[cfg(test)]
mod tests {
    use functions::abi::FIRESTEEL_STATUS_INVALID;
    use functions::arrow::array::{Float64Array, Int32Array};
    use functions::testing::{Failed, Host};

    use super::*;

    fn strings(array: &ArrayRef) -> Vec<Option<String>> {
        let texts = array.as_string::<i32>().iter();
        texts.map(|text| text.map(str::to_owned)).collect()
    }

    fn geohash(places: &[(f64, f64, i32)]) -> Result<Vec<Option<String>>, Failed> {
        let latitudes = Float64Array::from_iter_values(places.iter().map(|place| place.0));
        let longitudes = Float64Array::from_iter_values(places.iter().map(|place| place.1));
        let precisions = Int32Array::from_iter_values(places.iter().map(|place| place.2));
        let arguments: [ArrayRef; 3] = [
            Arc::new(latitudes),
            Arc::new(longitudes),
            Arc::new(precisions),
        ];
        let host = Host::new(crate::module);
        let geohash = host.bind("geohash", "double, double, int").unwrap();
        let result = geohash.execute(&arguments)?;
        Ok(strings(&result))
    }

    #[test]
    fn known_places() {
        let places = [
            (57.64911, 10.40744, 11, "u4pruydqqvj"),
            (42.6, -5.6, 5, "ezs42"),
            (48.8583, 2.2945, 8, "u09tunqu"),
            (-25.382708, -49.265506, 12, "6gkzwgjzn820"),
            (0.0, 0.0, 1, "s"),
            (90.0, 180.0, 12, "zzzzzzzzzzzz"),
            (-90.0, -180.0, 12, "000000000000"),
        ];
        let given: Vec<_> = places
            .iter()
            .map(|place| (place.0, place.1, place.2))
            .collect();
        let expected: Vec<_> = places
            .iter()
            .map(|place| Some(place.3.to_owned()))
            .collect();
        assert_eq!(geohash(&given).unwrap(), expected);
        assert_eq!(geohash(&[]).unwrap(), []);
    }

    #[test]
    fn values_out_of_range() {
        let good = (1.0, 2.0, 3);
        for (bad, message) in [
            ((90.5, 0.0, 1), "latitude 90.5 is not from -90 to 90"),
            ((f64::NAN, 0.0, 1), "latitude NaN is not from -90 to 90"),
            ((0.0, -181.0, 1), "longitude -181 is not from -180 to 180"),
            ((0.0, 0.0, 0), "precision 0 is not from 1 to 12"),
            ((0.0, 0.0, 13), "precision 13 is not from 1 to 12"),
        ] {
            let failed = geohash(&[good, bad, good]).unwrap_err();
            assert_eq!(failed.status, FIRESTEEL_STATUS_INVALID);
            assert_eq!(failed.message, message);
            assert_eq!((failed.row, failed.sqlstate.as_str()), (1, "22003"));
        }
    }
}
