//! Complaints about peers in the log, limited in rate: whoever can make this process write a line for each packet
//! fills its disk.

use lru::LruCache;
use parking_lot::Mutex;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Complaints about one address in one [`PERIOD`].
const MOST: u32 = 20;
const PERIOD: Duration = Duration::from_secs(60);
/// Addresses that are remembered.
const ADDRESSES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);

static COMPLAINTS: LazyLock<Mutex<Complaints>> = LazyLock::new(|| Mutex::new(Complaints::new()));

struct Complaints {
    about: LruCache<Option<IpAddr>, Count>,
}

struct Count {
    since: Instant,
    made: u32,
    left_out: u64,
}

/// What may be said.
#[derive(Debug, PartialEq, Eq)]
enum Say {
    /// The complaint, after so many that were left out.
    It(u64),
    Nothing,
}

impl Complaints {
    fn new() -> Self {
        Self {
            about: LruCache::new(ADDRESSES),
        }
    }

    fn say(&mut self, address: Option<IpAddr>, now: Instant) -> Say {
        let count = self.about.get_or_insert_mut(address, || Count {
            since: now,
            made: 0,
            left_out: 0,
        });
        if now.saturating_duration_since(count.since) >= PERIOD {
            (count.since, count.made) = (now, 0);
        }
        if count.made >= MOST {
            count.left_out += 1;
            return Say::Nothing;
        }
        count.made += 1;
        Say::It(std::mem::take(&mut count.left_out))
    }
}

/// Lets `complain` write a line about a peer, unless there were many of late.
pub fn complain(address: IpAddr, complain: impl FnOnce()) {
    let say = COMPLAINTS.lock().say(Some(address), Instant::now());
    write(say, &address, complain);
}

/// As [`complain`], about nobody in particular.
pub(super) fn complain_at_large(complain: impl FnOnce()) {
    let say = COMPLAINTS.lock().say(None, Instant::now());
    write(say, &"strangers", complain);
}

fn write(say: Say, about: &dyn std::fmt::Display, complain: impl FnOnce()) {
    if let Say::It(left_out) = say {
        if left_out > 0 {
            tracing::warn!("{left_out} complaints about {about} were left out");
        }
        complain();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_peer_cannot_fill_the_log() {
        let mut complaints = Complaints::new();
        let start = Instant::now();
        let peer = Some(IpAddr::from([127, 0, 0, 1]));
        let mut made = 0;
        for _ in 0..1000 {
            made += u32::from(complaints.say(peer, start) == Say::It(0));
        }
        assert_eq!(made, MOST);
        assert_eq!(complaints.say(None, start), Say::It(0), "others are heard");
        assert_eq!(
            complaints.say(peer, start + PERIOD),
            Say::It(1000 - u64::from(MOST))
        );
        assert_eq!(complaints.say(peer, start + PERIOD), Say::It(0));
    }
}
