//! Sets of coupons: a hash table whose places are part of what is written.

use super::{LIST, PLACE_BITS};

/// Of a new set two to this are the places.
const LEAST_LG: u8 = 5;

/// A set grows, or becomes registers, when more than three of four places are taken.
const TAKEN: usize = 3;
const OF: usize = 4;

/// A set of coupons; 0 is none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CouponSet {
    /// Two to some power are the places.
    table: Vec<u32>,
    count: usize,
}

/// What comes of one more coupon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    Fits,
    /// They are to become registers.
    TooMany,
}

/// Where a coupon is, or would be. `None` if a table is full, which none is.
fn find(table: &[u32], coupon: u32) -> Option<usize> {
    let mask = table.len().checked_sub(1)?;
    let lg = table.len().trailing_zeros();
    let stride = (coupon & ((1 << PLACE_BITS) - 1)) >> lg | 1;
    let mut place = coupon as usize & mask;
    for _ in 0..table.len() {
        if matches!(table.get(place)?, found if *found == 0 || *found == coupon) {
            return Some(place);
        }
        place = (place + stride as usize) & mask;
    }
    None
}

/// Puts a coupon in. Gives whether it is new.
fn put(table: &mut [u32], coupon: u32) -> bool {
    let place = find(table, coupon).and_then(|place| table.get_mut(place));
    match place {
        Some(place) if *place == 0 => {
            *place = coupon;
            true
        }
        _ => false,
    }
}

impl CouponSet {
    /// The set of a full list, which fits.
    pub(super) fn of(list: &[u32]) -> Self {
        let mut table = vec![0; 1 << LEAST_LG];
        let new = list.iter().filter(|coupon| put(&mut table, **coupon));
        Self {
            count: new.count(),
            table,
        }
    }

    /// A set that was written with so many coupons, for a sketch of so many registers; `None` if it is none that could
    /// have been written.
    pub(super) fn read(table: Vec<u32>, count: usize, lg_k: u8) -> Option<Self> {
        let lg = u8::try_from(table.len().checked_ilog2()?).ok()?;
        let is_size =
            table.len().is_power_of_two() && (LEAST_LG..=Self::most_lg(lg_k)).contains(&lg);
        let set = Self { table, count };
        let taken = set.table.iter().filter(|coupon| **coupon != 0).count();
        if !is_size || taken != count || count < LIST || set.is_too_full() {
            return None;
        }
        let in_place = |(place, coupon): (usize, &u32)| {
            *coupon == 0 || (is_coupon(*coupon) && find(&set.table, *coupon) == Some(place))
        };
        set.table.iter().enumerate().all(in_place).then_some(set)
    }

    /// Of the largest set two to this are the places.
    fn most_lg(lg_k: u8) -> u8 {
        lg_k.saturating_sub(3)
    }

    fn is_too_full(&self) -> bool {
        OF * self.count > TAKEN * self.table.len()
    }

    pub(super) fn add(&mut self, coupon: u32, lg_k: u8) -> Added {
        if !put(&mut self.table, coupon) {
            return Added::Fits;
        }
        self.count += 1;
        if !self.is_too_full() {
            return Added::Fits;
        }
        if self.table.len() >= 1 << Self::most_lg(lg_k) {
            return Added::TooMany;
        }
        let mut larger = vec![0; self.table.len() * 2];
        for coupon in self.table.iter().filter(|coupon| **coupon != 0) {
            put(&mut larger, *coupon);
        }
        self.table = larger;
        Added::Fits
    }

    /// The places with their coupons, or 0.
    pub(super) fn table(&self) -> &[u32] {
        &self.table
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }
}

/// Whether it is the coupon of some value: each has a run of at least one.
pub(super) fn is_coupon(coupon: u32) -> bool {
    coupon >> PLACE_BITS != 0
}
