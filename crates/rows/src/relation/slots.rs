//! The slots of a hash table.

/// No head.
pub(super) const NONE: u32 = u32::MAX;

/// Slots of a hash table: keys and their heads. At most three quarters of them are used. A head is a row, if no two
/// rows have the same key, and else the number of a group.
#[derive(Debug)]
pub(super) struct Slots<K> {
    slots: Vec<(K, u32)>,
    shift: u32,
    used: usize,
}

/// What a slot holds of a key.
pub(super) trait SlotKey: Copy + Default + PartialEq {
    /// Of which the high bits are the place of its slot.
    fn hash(self) -> u64;
}

impl<K: SlotKey> Slots<K> {
    /// For so many rows. There may be far fewer keys: it grows with them.
    pub(super) fn new(rows: usize) -> Self {
        let slots = (rows / 4).next_power_of_two().max(16);
        Self {
            slots: vec![(K::default(), NONE); slots],
            shift: 64 - slots.trailing_zeros(),
            used: 0,
        }
    }

    /// The head of a key, or where it is to be put, at once. `same` tells whether a head with that key in its slot is
    /// meant.
    pub(super) fn entry(&mut self, key: K, same: impl Fn(u32) -> bool) -> &mut u32 {
        if self.used >= self.slots.len() / 4 * 3 {
            self.grow();
        }
        // The mask keeps the place inside.
        let place = self.place(key, same) & (self.slots.len() - 1);
        #[allow(clippy::indexing_slicing)]
        let slot = &mut self.slots[place];
        if slot.1 == NONE {
            slot.0 = key;
            self.used += 1;
        }
        &mut slot.1
    }

    pub(super) fn memory_size(&self) -> usize {
        self.slots.len() * size_of::<(K, u32)>()
    }

    /// Of all slots, with [`NONE`] for those that are free.
    pub(super) fn heads(&mut self) -> impl Iterator<Item = &mut u32> {
        self.slots.iter_mut().map(|(_, head)| head)
    }

    #[inline]
    pub(super) fn get(&self, key: K, same: impl Fn(u32) -> bool) -> u32 {
        let slot = self.slots.get(self.place(key, same));
        slot.map_or(NONE, |(_, head)| *head)
    }

    /// The slot of a key, or the free one where it belongs.
    #[inline]
    fn place(&self, key: K, same: impl Fn(u32) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = (key.hash() >> self.shift) as usize;
        while let Some((of, head)) = self.slots.get(place) {
            if *head == NONE || (*of == key && same(*head)) {
                break;
            }
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let slots = vec![(K::default(), NONE); self.slots.len() * 2];
        self.shift -= 1;
        // In their order: those of the new table are written from the first to the last.
        for (key, head) in std::mem::replace(&mut self.slots, slots) {
            if head != NONE {
                let place = self.place(key, |_| false);
                if let Some(slot) = self.slots.get_mut(place) {
                    *slot = (key, head);
                }
            }
        }
    }
}

impl SlotKey for i64 {
    #[inline]
    fn hash(self) -> u64 {
        (self as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl SlotKey for [i64; 2] {
    #[inline]
    fn hash(self) -> u64 {
        let [one, two] = self;
        let hash = one.hash();
        ((hash ^ hash >> 29).wrapping_add(two as u64)).wrapping_mul(0xd6e8_feb8_6659_fd93)
    }
}

/// The high half of a hash.
impl SlotKey for u32 {
    #[inline]
    fn hash(self) -> u64 {
        u64::from(self) << 32
    }
}
