/// What became of a call. The numbers are fixed for ever and sorted by blame: below 100 there is no error, 100 to 199
/// is the caller's mistake, 200 to 299 damaged bytes, 300 to 399 something this version does not support, 400 to 499
/// the machine or the network, 500 to 599 a bug in the library. Later versions may return numbers that are not listed
/// here.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum firesteel_code {
    /// Done.
    FIRESTEEL_OK = 0,
    /// The time was up first. Nothing is wrong; no error object is made.
    FIRESTEEL_TIMED_OUT = 1,
    /// The bytes end before the frame does. Nothing is wrong; no error object is made.
    FIRESTEEL_INCOMPLETE = 2,

    /// A pointer that is needed was NULL.
    FIRESTEEL_NULL_ARGUMENT = 100,
    /// An argument makes no sense; the message says which and why. For `firesteel_executor_new`, the message of a wrong
    /// command line is Spark's own usage text.
    FIRESTEEL_INVALID_ARGUMENT = 101,
    /// A text was not UTF-8.
    FIRESTEEL_NOT_UTF8 = 102,
    /// The executor has not been started.
    FIRESTEEL_NOT_STARTED = 103,
    /// The executor has been started before.
    FIRESTEEL_ALREADY_STARTED = 104,
    /// A property of the application has a value that cannot be used; the message names the property.
    FIRESTEEL_INVALID_SETTING = 105,

    /// The bytes are not what they should be, or end too early.
    FIRESTEEL_MALFORMED = 200,
    /// The bytes claim more (length, depth, number of objects) than the library takes.
    FIRESTEEL_LIMIT_EXCEEDED = 201,
    /// The driver turned the executor down; the message has its words.
    FIRESTEEL_DRIVER_REFUSED = 202,

    /// The Spark distribution or the driver does not fit this version of the library.
    FIRESTEEL_UNSUPPORTED = 300,

    /// The driver cannot be reached or does not answer; the message names its address.
    FIRESTEEL_DRIVER_UNREACHABLE = 400,
    /// A file, directory, port, thread or the memory for something could not be had.
    FIRESTEEL_LOCAL_RESOURCE = 401,
    /// The class path has no Spark, or jars of several versions.
    FIRESTEEL_CLASS_PATH = 402,
    /// The JDK that the tasks need was not found or cannot be used.
    FIRESTEEL_JDK = 403,

    /// A bug in the library. It caught itself; the object it happened to should be freed.
    FIRESTEEL_INTERNAL = 500,
}
