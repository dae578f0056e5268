//! The bytes of HLL sketches, in the form that can be updated (`toUpdatableByteArray`). Little-endian:
//!
//! ```text
//! 0 size of the header in words   1 version   2 family   3 lg of the registers   4 lg of the places of coupons
//! 5 flags   6 coupons of a list, or least register   7 mode and type of registers
//! list:      places of coupons from 8 on
//! set:       number of coupons at 8, places from 12 on
//! registers: history at 8, sums at 16 and 24, registers with the least value at 32, 0 at 36, registers from 40 on
//! ```

use super::coupons::{CouponSet, is_coupon};
use super::registers::{Beside, LONGEST, Registers};
use super::{HllSketch, LG_K, LIST, Mode};
use crate::{Result, Unreadable};

const VERSION: u8 = 1;
const FAMILY: u8 = 7;

const EMPTY: u8 = 4;
const OUT_OF_ORDER: u8 = 16;

/// Sizes of headers in words.
const LIST_HEADER: u8 = 2;
const SET_HEADER: u8 = 3;
const REGISTERS_HEADER: u8 = 10;

/// Modes with registers of a byte.
const MODE_LIST: u8 = 8;
const MODE_SET: u8 = 9;
const MODE_REGISTERS: u8 = 10;

const OTHER: Unreadable = Unreadable("an HLL sketch of another form");

/// Little-endian values out of what is left.
struct Rest<'b>(&'b [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (value, rest) = self.0.split_first_chunk().ok_or(OTHER)?;
        self.0 = rest;
        Ok(*value)
    }

    fn int(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    /// A number that is neither infinite nor none.
    fn double(&mut self) -> Result<f64> {
        let value = f64::from_le_bytes(self.take()?);
        if value.is_finite() {
            Ok(value)
        } else {
            Err(OTHER)
        }
    }

    /// All that is left.
    fn ints(&self) -> Result<Vec<u32>> {
        let (ints, []) = self.0.as_chunks::<4>() else {
            return Err(OTHER);
        };
        Ok(ints.iter().map(|int| u32::from_le_bytes(*int)).collect())
    }
}

impl HllSketch {
    /// Reads what the library wrote in the form that can be updated.
    ///
    /// # Errors
    /// It is something else: no sketch, one whose registers are not of a byte, or the compact form of coupons.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut rest = Rest(bytes);
        let [header, version, family, lg_k] = rest.take()?;
        let [lg_places, flags, count, mode] = rest.take()?;
        if version != VERSION || family != FAMILY || !LG_K.contains(&lg_k) {
            return Err(OTHER);
        }
        let mode = match (mode, header, flags) {
            (MODE_LIST, LIST_HEADER, 0 | EMPTY) if lg_places == LIST.ilog2().to_le_bytes()[0] => {
                if (flags == EMPTY) != (count == 0) {
                    return Err(OTHER);
                }
                Mode::List(list(rest.ints()?, count.into())?)
            }
            (MODE_SET, SET_HEADER, 0) => {
                let count = usize::try_from(rest.int()?).map_err(|_| OTHER)?;
                let table = rest.ints()?;
                if table.len() != 1_usize.checked_shl(lg_places.into()).ok_or(OTHER)? {
                    return Err(OTHER);
                }
                Mode::Set(CouponSet::read(table, count, lg_k).ok_or(OTHER)?)
            }
            (MODE_REGISTERS, REGISTERS_HEADER, 0 | OUT_OF_ORDER) => {
                let beside = Beside {
                    out_of_order: flags == OUT_OF_ORDER,
                    minimum: count,
                    history: rest.double()?,
                    sums: [rest.double()?, rest.double()?],
                    at_minimum: rest.int()?.cast_signed(),
                };
                if rest.int()? != 0 {
                    return Err(OTHER);
                }
                Mode::Registers(registers(rest.0, lg_k, beside)?)
            }
            _ => return Err(OTHER),
        };
        Ok(Self { lg_k, mode })
    }

    /// As the library writes it in the form that can be updated.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match &self.mode {
            Mode::List(coupons) => self.list_bytes(coupons),
            Mode::Set(coupons) => {
                let places = coupons.table();
                let lg_places = places.len().trailing_zeros().to_le_bytes()[0];
                let mut bytes = Vec::with_capacity(12 + size_of_val(places));
                bytes.extend([
                    SET_HEADER, VERSION, FAMILY, self.lg_k, lg_places, 0, 0, MODE_SET,
                ]);
                // Below 2^18.
                let count = u32::try_from(coupons.count()).unwrap_or(u32::MAX);
                bytes.extend(count.to_le_bytes());
                bytes.extend(places.iter().flat_map(|coupon| coupon.to_le_bytes()));
                bytes
            }
            Mode::Registers(registers) => {
                let beside = &registers.beside;
                let mut bytes = Vec::with_capacity(40 + registers.values().len());
                let flags = if beside.out_of_order { OUT_OF_ORDER } else { 0 };
                bytes.extend([REGISTERS_HEADER, VERSION, FAMILY, self.lg_k, 0, flags]);
                bytes.extend([beside.minimum, MODE_REGISTERS]);
                let [short, long] = beside.sums;
                let doubles = [beside.history, short, long];
                bytes.extend(doubles.into_iter().flat_map(f64::to_le_bytes));
                bytes.extend(beside.at_minimum.to_le_bytes());
                bytes.extend(0_u32.to_le_bytes());
                bytes.extend_from_slice(registers.values());
                bytes
            }
        }
    }

    fn list_bytes(&self, coupons: &[u32]) -> Vec<u8> {
        // At most eight.
        let (lg_places, count) = (
            LIST.ilog2().to_le_bytes()[0],
            coupons.len().to_le_bytes()[0],
        );
        let flags = if coupons.is_empty() { EMPTY } else { 0 };
        let mut bytes = Vec::with_capacity(8 + LIST * size_of::<u32>());
        bytes.extend([
            LIST_HEADER,
            VERSION,
            FAMILY,
            self.lg_k,
            lg_places,
            flags,
            count,
            MODE_LIST,
        ]);
        let places = coupons
            .iter()
            .copied()
            .chain(std::iter::repeat(0))
            .take(LIST);
        bytes.extend(places.flat_map(u32::to_le_bytes));
        bytes
    }
}

/// The coupons of a list that is not full.
fn list(mut places: Vec<u32>, count: usize) -> Result<Vec<u32>> {
    if places.len() != LIST || count >= LIST {
        return Err(OTHER);
    }
    let free = places.split_off(count);
    let twice = |(place, coupon)| places.iter().take(place).any(|other| other == coupon);
    let all = places.iter().all(|coupon| is_coupon(*coupon));
    if !all || places.iter().enumerate().any(twice) || free.iter().any(|place| *place != 0) {
        return Err(OTHER);
    }
    Ok(places)
}

fn registers(values: &[u8], lg_k: u8, beside: Beside) -> Result<Registers> {
    let most = 1_i32 << lg_k;
    let zeros = values.iter().filter(|value| **value == 0).count();
    let counts = match beside.minimum {
        // Registers that had the least value once need not have it any more.
        1.. => zeros == 0 && (0..=most).contains(&beside.at_minimum),
        0 => i32::try_from(zeros) == Ok(beside.at_minimum),
    };
    let fits = values.len() == 1 << lg_k && values.iter().all(|value| *value <= LONGEST);
    if fits && counts && beside.minimum <= LONGEST {
        Ok(Registers::read(values, beside))
    } else {
        Err(OTHER)
    }
}
