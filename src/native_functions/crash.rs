//! A library that crashes takes the executor with it: this says in whose function it was.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// Signals that end a process.
const SIGNALS: [c_int; 5] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGABRT,
];

/// Line and its length that is written if the thread crashes; NULL while it calls no function of a library.
type Words = (*const u8, usize);

thread_local! {
    static CALLED: Cell<Words> = const { Cell::new((std::ptr::null(), 0)) };
}

/// What handled the signals before.
static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

/// While it lives, a crash of this thread is told with these words.
pub(super) struct Calling(Words);

impl Calling {
    /// The words live as long as the process.
    pub(super) fn new(words: &'static str) -> Self {
        Self(CALLED.replace((words.as_ptr(), words.len())))
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        CALLED.set(self.0);
    }
}

/// Tells crashes from now on. Called when the first library is loaded: without libraries, signals are left as they are.
pub(super) fn tell_crashes() {
    BEFORE.get_or_init(|| SIGNALS.map(take_over));
}

/// Puts the handler in the place of another, and gives that.
fn take_over(signal: c_int) -> libc::sigaction {
    // SAFETY: a `sigaction` of zeros is the default action.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    let mut before = action;
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
    action.sa_sigaction = handler as libc::sighandler_t;
    // On the thread's alternative stack, if it has one: Rust's threads do, for overflows of their stack.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // What is called on behalf of others, such as a JVM, expects that no other signal comes between.
    // SAFETY: the set is valid.
    unsafe { libc::sigfillset(&raw mut action.sa_mask) };
    // SAFETY: both are valid; the handler does only what handlers may do.
    unsafe { libc::sigaction(signal, &raw const action, &raw mut before) };
    before
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let (words, len) = CALLED.try_with(Cell::get).unwrap_or((std::ptr::null(), 0));
    if !words.is_null() {
        // SAFETY: the words are static; `write` may be called in handlers.
        unsafe { libc::write(libc::STDERR_FILENO, words.cast(), len) };
        restore(signal, None);
        // A signal that was sent does not come again by itself.
        if signal == libc::SIGABRT {
            // SAFETY: may be called in handlers; the signal comes when this one returns.
            unsafe { libc::raise(signal) };
        }
        return;
    }
    let place = SIGNALS.iter().position(|own| *own == signal);
    let before = place.and_then(|place| BEFORE.get()?.get(place));
    match before.map(|action| (action.sa_sigaction, action)) {
        Some((libc::SIG_DFL | libc::SIG_IGN, _)) | None => restore(signal, before),
        Some((address, action)) if action.sa_flags & libc::SA_SIGINFO != 0 => {
            type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
            // SAFETY: the kernel was told that a function of this type is there.
            let handler = unsafe { std::mem::transmute::<libc::sighandler_t, Handler>(address) };
            handler(signal, info, context);
        }
        Some((address, _)) => {
            // SAFETY: as above, of the older type.
            let handler =
                unsafe { std::mem::transmute::<libc::sighandler_t, extern "C" fn(c_int)>(address) };
            handler(signal);
        }
    }
}

/// Lets the signal, which comes again as the handler returns, do what it did before, or what it does by default.
fn restore(signal: c_int, before: Option<&libc::sigaction>) {
    // SAFETY: a `sigaction` of zeros is the default action; `sigaction` may be called in handlers.
    unsafe {
        let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
        libc::sigaction(signal, before.unwrap_or(&default), std::ptr::null_mut());
    }
}
