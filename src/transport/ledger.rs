//! The ledger of what peers may hold: memory that this process spends on what others have begun and not finished, sent
//! and not been answered, asked for and not taken.
//!
//! What arrived counts, not what was announced: whoever announces much and sends nothing holds nothing. All of it
//! together has a limit, and what one address holds has its share of it; who wants more waits. Two rules keep strangers
//! from making others wait for long:
//!
//! * Small amounts ([`SMALL`] per connection) may exceed the limit by an eighth.
//! * While anybody waits, connections are inspected: one whose other end neither goes on with what it has begun nor
//!   takes what it was sent is closed, those that hold most first.
//!
//! Frames grow while they arrive, so several could wait for each other. Therefore, when nothing else is left that will
//! be freed, who has waited longest may go on whatever the limit says: the ledger is never exceeded by more than one
//! frame.

use super::connection::Connection;
use super::outgoing::Activity;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Bytes of one connection that the limit may be exceeded for.
const SMALL: usize = 1 << 20;
/// Time between two looks at who holds up whom.
const INSPECTION: Duration = Duration::from_secs(1);
/// Looks at a connection that must find it idle before it is closed.
const STRIKES: u32 = 3;
/// An older look says nothing about now.
const STALE: Duration = Duration::from_secs(5);
/// Bytes per second that keep a connection while others wait.
const KEEPS: u64 = 256 << 10;

/// The ledger of one server.
#[derive(Debug)]
pub(super) struct Ledger {
    limit: usize,
    /// Bytes of the limit that connections from one address may hold.
    share: usize,
    held: AtomicUsize,
    /// Bytes of it that will be free without those who wait.
    passing: AtomicUsize,
    addresses: Mutex<HashMap<IpAddr, Weak<Address>>>,
    accounts: Mutex<HashMap<u64, Arc<Account>>>,
    /// Numbers of those who wait or have waited and are not done yet.
    turns: Mutex<BTreeSet<u64>>,
    next_turn: AtomicU64,
    /// Somebody holds less, or is done.
    freed: Notify,
    inspected: Mutex<Option<Instant>>,
}

/// What the connections from one address hold.
#[derive(Debug)]
struct Address {
    held: AtomicUsize,
}

/// What one connection holds.
#[derive(Debug)]
pub(super) struct Account {
    ledger: Arc<Ledger>,
    address: Arc<Address>,
    connection: Weak<Connection>,
    held: AtomicUsize,
    /// Bytes of frames that the other end has not finished.
    unfinished: AtomicUsize,
    /// Bytes that the other end asked for and has not taken.
    untaken: AtomicUsize,
    activity: Arc<Activity>,
    /// This end does not read on, for reasons of its own.
    held_up: AtomicBool,
    look: Mutex<Option<Inspection>>,
}

/// How an account was found by the last inspection.
#[derive(Debug, Clone, Copy)]
struct Inspection {
    at: Instant,
    received: u64,
    sent: u64,
    strikes: u32,
}

/// Why memory is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// A frame is on its way.
    Unfinished,
    /// This process is busy with it.
    Busy,
    /// It is kept until the other end asks for it, or goes.
    Kept,
    /// The other end is to take it.
    Untaken,
}

/// Memory that a connection holds, until it is dropped.
#[derive(Debug)]
pub struct Held {
    account: Arc<Account>,
    bytes: usize,
    reason: Reason,
}

/// A place in the queue of those who wait for memory, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    ledger: Arc<Ledger>,
    number: u64,
}

impl Ledger {
    /// At least `largest` bytes can be held at a time.
    pub(super) fn new(limit: usize, largest: usize) -> Arc<Self> {
        let limit = limit.max(largest);
        Arc::new(Self {
            limit,
            share: (limit / 2).max(largest),
            held: AtomicUsize::new(0),
            passing: AtomicUsize::new(0),
            addresses: Mutex::default(),
            accounts: Mutex::default(),
            turns: Mutex::default(),
            next_turn: AtomicU64::new(0),
            freed: Notify::new(),
            inspected: Mutex::new(None),
        })
    }

    /// The account of a new connection. It must be [closed](Self::close) with the connection.
    pub(super) fn open(
        self: &Arc<Self>,
        connection: u64,
        ip: IpAddr,
        of: Weak<Connection>,
        activity: Arc<Activity>,
    ) -> Arc<Account> {
        let mut accounts = self.accounts.lock();
        let address = {
            let mut addresses = self.addresses.lock();
            if addresses.len() > 64 + 2 * accounts.len() {
                addresses.retain(|_, address| address.strong_count() > 0);
            }
            match addresses.get(&ip).and_then(Weak::upgrade) {
                Some(address) => address,
                None => {
                    let held = AtomicUsize::new(0);
                    let address = Arc::new(Address { held });
                    addresses.insert(ip, Arc::downgrade(&address));
                    address
                }
            }
        };
        let account = Arc::new(Account {
            ledger: self.clone(),
            address,
            connection: of,
            held: AtomicUsize::new(0),
            unfinished: AtomicUsize::new(0),
            untaken: AtomicUsize::new(0),
            activity,
            held_up: AtomicBool::new(false),
            look: Mutex::new(None),
        });
        accounts.insert(connection, account.clone());
        account
    }

    /// The connection is gone. What is still being worked on stays counted until it is done.
    pub(super) fn close(&self, connection: u64) {
        self.accounts.lock().remove(&connection);
    }

    /// Connections that are open.
    pub(super) fn connections(&self) -> usize {
        self.accounts.lock().len()
    }

    /// Closes the connection on which nothing has happened for the longest time. Whether there was one.
    pub(super) fn close_longest_idle(&self, reason: &str) -> bool {
        let idle = {
            let accounts = self.accounts.lock();
            let connections = accounts
                .values()
                .filter_map(|account| account.connection.upgrade());
            connections
                .filter(|connection| !connection.is_closed())
                .min_by_key(|connection| connection.quiet_since())
        };
        idle.is_some_and(|connection| {
            connection.close(reason);
            true
        })
    }

    /// Bytes that are held.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Closes connections that make others wait. Those who wait call this; it looks at most once in [`INSPECTION`].
    fn inspect(&self, now: Instant) {
        {
            let mut inspected = self.inspected.lock();
            if inspected.is_some_and(|last| now.saturating_duration_since(last) < INSPECTION) {
                return;
            }
            *inspected = Some(now);
        }
        let accounts: Vec<_> = self.accounts.lock().values().cloned().collect();
        let mut idle: Vec<_> = accounts
            .into_iter()
            .filter_map(|account| {
                account
                    .is_idle(now)
                    .then(|| (account.waits_for_peer(), account))
            })
            .collect();
        idle.sort_unstable_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        let mut freed = 0;
        for (bytes, account) in idle {
            if freed >= self.limit / 4 {
                break;
            }
            if let Some(connection) = account.connection.upgrade() {
                connection.close("it held memory that others wait for, and did not go on");
            }
            freed += bytes;
        }
    }
}

impl Account {
    /// Whether it is this end that does not read on.
    pub(super) fn hold_up(&self, held_up: bool) {
        self.held_up.store(held_up, Ordering::Relaxed);
    }

    /// Whether that many more bytes are within the limits.
    pub(super) fn fits(&self, bytes: usize) -> bool {
        let ledger = &self.ledger;
        let held = ledger.held.load(Ordering::Relaxed).saturating_add(bytes);
        let of_address = self
            .address
            .held
            .load(Ordering::Relaxed)
            .saturating_add(bytes);
        if held <= ledger.limit && of_address <= ledger.share {
            return true;
        }
        let own = self.held.load(Ordering::Relaxed).saturating_add(bytes);
        own <= SMALL && held <= ledger.limit + ledger.limit / 8
    }

    /// Holds memory, whether it fits or not.
    pub(super) fn hold(self: &Arc<Self>, bytes: usize, reason: Reason) -> Held {
        self.add(bytes, reason);
        Held {
            account: self.clone(),
            bytes,
            reason,
        }
    }

    /// Waits until that many more bytes may be held. `turn` is the place in the queue, for as long as what is held is
    /// growing. May be dropped at any point.
    pub(super) async fn room(&self, bytes: usize, turn: &mut Option<Turn>) {
        loop {
            let freed = self.ledger.freed.notified();
            tokio::pin!(freed);
            // Registered before the check, so that a change right after it is not missed.
            freed.as_mut().enable();
            if self.fits(bytes) {
                return;
            }
            let turn = turn.get_or_insert_with(|| Turn::new(&self.ledger));
            if turn.is_first() && self.ledger.passing.load(Ordering::Relaxed) == 0 {
                return;
            }
            self.ledger.inspect(Instant::now());
            tokio::select! {
                () = freed => {}
                () = tokio::time::sleep(INSPECTION) => {}
            }
        }
    }

    fn add(&self, bytes: usize, reason: Reason) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
        self.address.held.fetch_add(bytes, Ordering::Relaxed);
        self.ledger.held.fetch_add(bytes, Ordering::Relaxed);
        self.count(reason, |counter| {
            counter.fetch_add(bytes, Ordering::Relaxed);
        });
    }

    fn subtract(&self, bytes: usize, reason: Reason) {
        self.count(reason, |counter| {
            counter.fetch_sub(bytes, Ordering::Relaxed);
        });
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.address.held.fetch_sub(bytes, Ordering::Relaxed);
        self.ledger.held.fetch_sub(bytes, Ordering::Relaxed);
        self.ledger.freed.notify_waiters();
    }

    fn count(&self, reason: Reason, change: impl Fn(&AtomicUsize)) {
        match reason {
            Reason::Unfinished => change(&self.unfinished),
            Reason::Untaken => {
                change(&self.untaken);
                change(&self.ledger.passing);
            }
            Reason::Busy => change(&self.ledger.passing),
            Reason::Kept => {}
        }
    }

    fn waits_for_peer(&self) -> usize {
        self.unfinished.load(Ordering::Relaxed) + self.untaken.load(Ordering::Relaxed)
    }

    /// Whether the other end has held memory for several looks without going on.
    fn is_idle(&self, now: Instant) -> bool {
        let (received, sent) = (self.activity.received(), self.activity.sent());
        let mut look = self.look.lock();
        let last = look.filter(|look| now.saturating_duration_since(look.at) < STALE);
        let strikes = last.map_or(0, |last| {
            let expected = KEEPS * now.saturating_duration_since(last.at).as_millis() as u64 / 1000;
            let does_not_send = self.unfinished.load(Ordering::Relaxed) > 0
                && !self.held_up.load(Ordering::Relaxed)
                && received - last.received < expected;
            let does_not_take =
                self.untaken.load(Ordering::Relaxed) > 0 && sent - last.sent < expected;
            match does_not_send || does_not_take {
                true => last.strikes + 1,
                false => 0,
            }
        });
        *look = Some(Inspection {
            at: now,
            received,
            sent,
            strikes,
        });
        strikes >= STRIKES
    }
}

impl Held {
    /// Holds more or less, whether it fits or not.
    pub(super) fn resize(&mut self, bytes: usize) {
        let (account, reason) = (&self.account, self.reason);
        match bytes.checked_sub(self.bytes) {
            Some(more) => account.add(more, reason),
            None => account.subtract(self.bytes - bytes, reason),
        }
        self.bytes = bytes;
    }

    /// Bytes that are held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds it for another reason from now on.
    pub(super) fn because(&mut self, reason: Reason) {
        let (bytes, account) = (self.bytes, &self.account);
        account.count(reason, |counter| {
            counter.fetch_add(bytes, Ordering::Relaxed);
        });
        account.count(self.reason, |counter| {
            counter.fetch_sub(bytes, Ordering::Relaxed);
        });
        self.reason = reason;
    }

    /// Bytes that hold this memory as long as anybody has them.
    pub(super) fn with(self, bytes: Bytes) -> Bytes {
        struct WithMemory {
            bytes: Bytes,
            _held: Held,
        }
        impl AsRef<[u8]> for WithMemory {
            fn as_ref(&self) -> &[u8] {
                &self.bytes
            }
        }
        Bytes::from_owner(WithMemory { bytes, _held: self })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.account.subtract(self.bytes, self.reason);
    }
}

impl Turn {
    fn new(ledger: &Arc<Ledger>) -> Self {
        let number = ledger.next_turn.fetch_add(1, Ordering::Relaxed);
        ledger.turns.lock().insert(number);
        Self {
            ledger: ledger.clone(),
            number,
        }
    }

    fn is_first(&self) -> bool {
        self.ledger.turns.lock().first() == Some(&self.number)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.ledger.turns.lock().remove(&self.number);
        self.ledger.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    const MIB: usize = 1 << 20;

    fn peer(ledger: &Arc<Ledger>, connection: u64, address: u8) -> (Arc<Account>, Arc<Activity>) {
        let activity = Arc::new(Activity::new());
        let ip = IpAddr::from([10, 0, 0, address]);
        let account = ledger.open(connection, ip, Weak::new(), activity.clone());
        (account, activity)
    }

    #[tokio::test]
    async fn shares_and_limits() {
        let ledger = Ledger::new(16 * MIB, 4 * MIB);
        let (first, _) = peer(&ledger, 1, 1);
        let (same_address, _) = peer(&ledger, 2, 1);
        let (other, _) = peer(&ledger, 3, 2);
        let mut held = first.hold(7 * MIB, Reason::Busy);
        assert!(
            first.fits(MIB) && !first.fits(MIB + 1),
            "half of it for one address"
        );
        assert!(!same_address.fits(2 * MIB) && other.fits(8 * MIB));
        held.resize(8 * MIB);
        let others = other.hold(8 * MIB, Reason::Kept);
        assert!(
            same_address.fits(SMALL),
            "small amounts may exceed the limit"
        );
        assert!(!other.fits(1), "who holds much has no small amounts");
        let small = same_address.hold(SMALL, Reason::Busy);
        let (third, _) = peer(&ledger, 4, 3);
        assert!(third.fits(SMALL));
        let more = third.hold(SMALL, Reason::Busy);
        let (fourth, _) = peer(&ledger, 5, 4);
        assert!(!fourth.fits(1), "an eighth");
        drop((held, small, more));
        assert_eq!((ledger.held(), fourth.fits(8 * MIB)), (8 * MIB, true));
        drop(others);
        assert_eq!(
            (ledger.held(), ledger.passing.load(Ordering::Relaxed)),
            (0, 0)
        );
        let bytes = other
            .hold(5, Reason::Untaken)
            .with(Bytes::from_static(b"12345"));
        let part = bytes.slice(1..2);
        drop(bytes);
        assert_eq!((ledger.held(), other.waits_for_peer()), (5, 5));
        drop(part);
        assert_eq!((ledger.held(), other.waits_for_peer()), (0, 0));
        assert_eq!(ledger.connections(), 5);
        ledger.close(1);
        assert_eq!(ledger.connections(), 4);
    }

    #[tokio::test]
    async fn frames_that_wait_for_each_other_go_on_one_by_one() {
        let ledger = Ledger::new(8 * MIB, MIB);
        let (first, _) = peer(&ledger, 1, 1);
        let (second, _) = peer(&ledger, 2, 2);
        let mut frames = [&first, &second].map(|peer| peer.hold(4 * MIB, Reason::Unfinished));
        let mut turns = [None, None];
        let [turn_of_first, turn_of_second] = &mut turns;
        let busy = first.hold(MIB, Reason::Busy);
        assert!(
            first.room(MIB, turn_of_first).now_or_never().is_none(),
            "something will be free"
        );
        drop(busy);
        assert!(second.room(MIB, turn_of_second).now_or_never().is_none());
        assert!(
            first.room(MIB, turn_of_first).now_or_never().is_some(),
            "it waited first"
        );
        frames[0].resize(5 * MIB);
        assert!(
            first.room(MIB, turn_of_first).now_or_never().is_some(),
            "as long as it takes"
        );
        let [frame, other] = frames;
        turns[0] = None;
        assert!(second.room(MIB, &mut turns[1]).now_or_never().is_some());
        drop((frame, other));
    }

    #[tokio::test]
    async fn only_who_does_not_go_on_is_idle() {
        let ledger = Ledger::new(8 * MIB, MIB);
        let (account, activity) = peer(&ledger, 1, 1);
        let start = Instant::now();
        let mut looks = 0;
        let mut is_idle = || {
            looks += 1;
            account.is_idle(start + INSPECTION * looks)
        };
        assert!((0..6).all(|_| !is_idle()), "it holds nothing");
        let held = account.hold(MIB, Reason::Unfinished);
        assert!(!is_idle() && !is_idle());
        activity.receive(MIB);
        assert!(
            !is_idle() && !is_idle() && !is_idle() && is_idle(),
            "three looks in vain"
        );
        account.hold_up(true);
        assert!((0..6).all(|_| !is_idle()), "it is not read");
        account.hold_up(false);
        assert!(!is_idle());
        drop(held);
        let _held = account.hold(MIB, Reason::Untaken);
        account.hold_up(true);
        assert!(!is_idle() && is_idle(), "it takes nothing");
    }
}
