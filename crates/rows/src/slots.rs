//! The slots of a hash table.

/// No head.
pub const NONE: u32 = u32::MAX;

/// Keys whose slots are read before the first of them is looked at: they come from memory at the same time.
const AHEAD: usize = 32;

/// Slots of a hash table: keys and their heads. At most three quarters of them are used. A head is a row, if no two
/// rows have the same key, and else the number of a group.
#[derive(Debug)]
pub struct Slots<K> {
    slots: Vec<(K, u32)>,
    shift: u32,
    used: usize,
}

/// What a slot holds of a key.
pub trait SlotKey: Copy + Default + PartialEq {
    /// Of which the high bits are the place of its slot.
    fn hash(self) -> u64;

    /// The place of its slot, of `64 - shift` bits and at least 4.
    #[inline]
    fn place(self, shift: u32) -> usize {
        (self.hash() >> shift) as usize
    }
}

impl<K: SlotKey> Slots<K> {
    /// For so many rows or groups. There may be far fewer keys: it grows with them.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        let slots = (rows / 4).next_power_of_two().max(16);
        Self {
            slots: vec![(K::default(), NONE); slots],
            shift: 64 - slots.trailing_zeros(),
            used: 0,
        }
    }

    /// The head of a key, or where it is to be put, at once. `same` tells whether a head with that key in its slot is
    /// meant.
    #[inline]
    pub fn entry(&mut self, key: K, same: impl Fn(u32) -> bool) -> &mut u32 {
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

    /// Bytes of memory.
    #[must_use]
    pub fn memory_size(&self) -> usize {
        self.slots.len() * size_of::<(K, u32)>()
    }

    /// Of all slots, with [`NONE`] for those that are free.
    pub(crate) fn heads(&mut self) -> impl Iterator<Item = &mut u32> {
        self.slots.iter_mut().map(|(_, head)| head)
    }

    #[inline]
    pub(crate) fn get(&self, key: K, same: impl Fn(u32) -> bool) -> u32 {
        let slot = self.slots.get(self.place(key, same));
        slot.map_or(NONE, |(_, head)| *head)
    }

    /// Calls `with` for each of some keys in their order. The slots of several are read before it is called for the
    /// first of them, so that they come from memory at the same time.
    #[inline]
    pub fn for_each<A: Copy + Default>(
        &mut self,
        keys: impl Iterator<Item = (K, A)>,
        mut with: impl FnMut(&mut Self, K, A),
    ) {
        let mut keys = keys.fuse();
        loop {
            let (mut ahead, mut count, mut seen) = ([<(K, A)>::default(); AHEAD], 0, 0_u32);
            for (place, next) in ahead.iter_mut().zip(keys.by_ref()) {
                *place = next;
                count += 1;
                seen ^= self.first(next.0).1;
            }
            if count == 0 {
                return;
            }
            // Or the compiler would see that nobody wants what was read.
            std::hint::black_box(seen);
            for (key, of) in ahead.into_iter().take(count) {
                with(self, key, of);
            }
        }
    }

    /// The heads of keys that are in their slots as a whole, with [`NONE`] for those that are not there.
    pub(crate) fn heads_of(&self, keys: impl ExactSizeIterator<Item = K>) -> Vec<u32> {
        let mut heads = Vec::with_capacity(keys.len());
        let mut keys = keys.fuse();
        loop {
            let (mut ahead, mut count) = ([(K::default(), K::default(), NONE); AHEAD], 0);
            for (place, key) in ahead.iter_mut().zip(keys.by_ref()) {
                let (of, head) = self.first(key);
                *place = (key, of, head);
                count += 1;
            }
            if count == 0 {
                return heads;
            }
            let ahead = ahead.iter().take(count);
            heads.extend(
                ahead.map(|(key, of, head)| match *head == NONE || key == of {
                    true => *head,
                    false => self.get(*key, |_| true),
                }),
            );
        }
    }

    /// The slot where the search for a key begins.
    #[inline]
    fn first(&self, key: K) -> (K, u32) {
        let slot = self.slots.get(key.place(self.shift));
        slot.copied().unwrap_or((K::default(), NONE))
    }

    /// The slot of a key, or the free one where it belongs.
    #[inline]
    fn place(&self, key: K, same: impl Fn(u32) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = key.place(self.shift);
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

    /// Numbers that follow each other, as they often do, are next to each other.
    #[inline]
    fn place(self, shift: u32) -> usize {
        const NEAR: u32 = 3;
        let near = self as usize & ((1 << NEAR) - 1);
        ((self >> NEAR).hash() >> shift) as usize ^ near
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
