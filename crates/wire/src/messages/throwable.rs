/// A `java.lang.Throwable`: its class and what every throwable has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throwable {
    /// The Java class.
    pub class: String,
    /// What `getMessage` returns.
    pub message: Option<String>,
    /// Where it was thrown, innermost call first.
    pub stack_trace: Vec<StackTraceElement>,
    /// Why it was thrown.
    pub cause: Option<Box<Throwable>>,
}

/// `java.lang.StackTraceElement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackTraceElement {
    /// Class of the method.
    pub declaring_class: String,
    /// The method.
    pub method_name: String,
    /// Source file, if known.
    pub file_name: Option<String>,
    /// Line in it; negative if unknown, -2 for a native method.
    pub line_number: i32,
}
