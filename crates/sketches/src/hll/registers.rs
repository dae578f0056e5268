//! Registers, each with the longest run of its part of the hashes.

use super::{PLACE_BITS, estimate};

/// Runs below this are added up in the first sum, others in the second.
const SHORT: u8 = 32;

/// Longer runs are in no register.
pub(super) const LONGEST: u8 = 63;

/// Registers of a byte each, with what the library keeps beside them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Registers {
    values: Vec<u8>,
    /// What it is besides is written as it is.
    pub(super) beside: Beside,
    /// Registers were merged, and the sums and the minimum are still of before.
    stale: bool,
}

/// What is written before registers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Beside {
    /// Whether the order of values was lost, so that the estimate of their history does not count.
    pub(super) out_of_order: bool,
    /// The least of the registers when they were last looked through: 0 for most.
    pub(super) minimum: u8,
    /// How many had it then; of 0 how many have it.
    pub(super) at_minimum: i32,
    /// The estimate by their history.
    pub(super) history: f64,
    /// Sums of two to the power of minus the value, of small and of large values.
    pub(super) sums: [f64; 2],
}

/// Two to the power of minus this.
fn inverse(run: u8) -> f64 {
    f64::from_bits((1023 - u64::from(run)) << 52)
}

impl Registers {
    pub(super) fn new(lg_k: u8) -> Self {
        let registers = 1_u32 << lg_k;
        Self {
            values: vec![0; registers as usize],
            beside: Beside {
                out_of_order: false,
                minimum: 0,
                // At most 2^21.
                at_minimum: registers.cast_signed(),
                history: 0.0,
                sums: [registers.into(), 0.0],
            },
            stale: false,
        }
    }

    /// The registers of coupons, among which 0 is none.
    pub(super) fn of(lg_k: u8, coupons: &[u32]) -> Self {
        let mut new = Self::new(lg_k);
        let coupons = coupons.iter().filter(|coupon| **coupon != 0);
        let mut count = 0;
        for coupon in coupons {
            new.add(*coupon);
            count += 1;
        }
        new.beside.history = estimate::of_coupons(count);
        new
    }

    /// Registers that were read, as many as there are for a sketch.
    pub(super) fn read(values: &[u8], beside: Beside) -> Self {
        Self {
            values: values.to_vec(),
            beside,
            stale: false,
        }
    }

    pub(super) fn values(&self) -> &[u8] {
        &self.values
    }

    // There are at most 2^21.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn add(&mut self, coupon: u32) {
        let registers = self.values.len();
        // Two to some power.
        let Some(value) = self.values.get_mut(coupon as usize & (registers - 1)) else {
            return;
        };
        // Six bits are left.
        let (old, new) = (*value, (coupon >> PLACE_BITS).to_le_bytes()[0]);
        if new <= old {
            return;
        }
        *value = new;
        let beside = &mut self.beside;
        let [short, long] = &mut beside.sums;
        beside.history += registers as f64 / (*short + *long);
        for (run, sign) in [(old, -1.0), (new, 1.0)] {
            *(if run < SHORT { &mut *short } else { &mut *long }) += sign * inverse(run);
        }
        if old == 0 {
            beside.at_minimum = beside.at_minimum.wrapping_sub(1);
        }
    }

    /// The same for so many registers, which are fewer.
    pub(super) fn folded(&self, lg_k: u8) -> Self {
        let mut new = Self::new(lg_k);
        for (place, value) in (0_u32..).zip(&self.values) {
            if *value != 0 {
                new.add(u32::from(*value) << PLACE_BITS | place);
            }
        }
        new.beside.out_of_order = self.beside.out_of_order;
        new.beside.history = match self.beside.out_of_order {
            true => 0.0,
            false => self.beside.history,
        };
        new
    }

    /// Takes the greater of both values for each register. The others are as many or more.
    pub(super) fn merge(&mut self, others: &Self) {
        for others in others.values.chunks(self.values.len()) {
            for (value, other) in self.values.iter_mut().zip(others) {
                *value = (*value).max(*other);
            }
        }
        self.stale = true;
        self.beside.out_of_order = true;
        self.beside.history = 0.0;
    }

    /// Sums and minimum are of the registers again, if some were merged.
    // There are at most 2^21.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn refresh(&mut self) {
        if !self.stale {
            return;
        }
        self.stale = false;
        let [mut short, mut long] = [self.values.len() as f64, 0.0];
        for value in self.values.iter().copied().filter(|value| *value > 0) {
            // Of both sums a one less for each register: so does the library, although only one was started with them.
            *(if value < SHORT { &mut short } else { &mut long }) += inverse(value) - 1.0;
        }
        let minimum = self.values.iter().copied().min().unwrap_or_default();
        let at_minimum = self.values.iter().filter(|value| **value == minimum);
        self.beside.sums = [short, long];
        self.beside.minimum = minimum;
        self.beside.at_minimum = i32::try_from(at_minimum.count()).unwrap_or(i32::MAX);
    }
}
