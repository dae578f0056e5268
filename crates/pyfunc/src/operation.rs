//! The operations of expressions, by the names that the Python side gives them.

use crate::math::Math;

/// An enum of operations without fields, each with its name and how few and how many arguments it has.
macro_rules! operations {
    (
        $(#[$about:meta])* $kind:ident;
        $($(#[$doc:meta])* $name:ident $text:literal $fewest:literal..=$most:literal,)*
        $(; $(#[$inner_doc:meta])* $inner:ident($of:ty),)*
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind {
            $($(#[$doc])* $name,)*
            $($(#[$inner_doc])* $inner($of),)*
        }

        impl $kind {
            /// The operation of a name that the Python side uses, and how few and how many arguments it has.
            pub fn named(name: &str) -> Option<(Self, usize, usize)> {
                match name {
                    $($text => Some((Self::$name, $fewest, $most)),)*
                    _ => {
                        $(if let Some((found, fewest, most)) = <$of>::named(name) {
                            return Some((Self::$inner(found), fewest, most));
                        })*
                        None
                    }
                }
            }
        }
    };
}

pub(crate) use operations;

operations! {
    /// Operators, methods of texts and built-in functions.
    Operation;
    /// `raise`: no value, but an error that Python raises.
    Leave "leave" 0..=0,
    /// `a + b`
    Add "+" 2..=2,
    /// `a += b`, which changes lists.
    AddInPlace "+=" 2..=2,
    /// `a - b`
    Subtract "-" 2..=2,
    /// `a * b`
    Multiply "*" 2..=2,
    /// `a *= b`, which changes lists.
    MultiplyInPlace "*=" 2..=2,
    /// `a / b`
    Divide "/" 2..=2,
    /// `a // b`
    FloorDivide "//" 2..=2,
    /// `a % b`
    Modulo "%" 2..=2,
    /// `divmod(a, b)`
    DivideWithRest "divmod" 2..=2,
    /// `a ** b`
    Power "**" 2..=2,
    /// `a & b`
    And "&" 2..=2,
    /// `a | b`
    Or "|" 2..=2,
    /// `a ^ b`
    ExclusiveOr "^" 2..=2,
    /// `a << b`
    ShiftLeft "<<" 2..=2,
    /// `a >> b`
    ShiftRight ">>" 2..=2,
    /// `~a`
    Invert "invert" 1..=1,
    /// `+a`
    Positive "positive" 1..=1,
    /// `-a`
    Negative "negative" 1..=1,
    /// `abs(a)`
    Absolute "abs" 1..=1,
    /// `round(a)`, `round(a, digits)`
    Round "round" 1..=2,
    /// `not a`
    Not "not" 1..=1,
    /// `a is None`
    IsNone "is None" 1..=1,
    /// `a is b`, of which one is `None` or a truth.
    Is "is" 2..=2,
    /// Whether the type of `a` is one of those whose names are in the text `b`, with a space between two.
    IsOf "is of" 2..=2,
    /// `a == b`
    Equal "==" 2..=2,
    /// `a != b`
    NotEqual "!=" 2..=2,
    /// `a < b`
    Less "<" 2..=2,
    /// `a <= b`
    LessOrEqual "<=" 2..=2,
    /// `a > b`
    Greater ">" 2..=2,
    /// `a >= b`
    GreaterOrEqual ">=" 2..=2,
    /// `a in b`
    In "in" 2..=2,
    /// `a not in b`
    NotIn "not in" 2..=2,
    /// `max(a, b)`
    Max "max" 2..=2,
    /// `min(a, b)`
    Min "min" 2..=2,
    /// `max(a)`
    MaxOf "max of" 1..=1,
    /// `min(a)`
    MinOf "min of" 1..=1,
    /// `sum(a)`
    Sum "sum" 1..=1,
    /// `sorted(a)`
    Sorted "sorted" 1..=1,
    /// `all(a)`
    All "all" 1..=1,
    /// `any(a)`
    Any "any" 1..=1,
    /// `list(a)`
    ListOf "list of" 1..=1,
    /// `tuple(a)`
    TupleOf "tuple of" 1..=1,
    /// `len(a)`
    Len "len" 1..=1,
    /// `a[b]` with an index that is computed.
    Item "item" 2..=2,
    /// `a[start:stop:step]` with edges that are computed.
    SliceBetween "slice" 4..=4,
    /// `int(a)`
    Int "int" 1..=1,
    /// `float(a)`
    Float "float" 1..=1,
    /// `str(a)`
    Str "str" 1..=1,
    /// `repr(a)`
    Repr "repr" 1..=1,
    /// `ord(a)`
    Ord "ord" 1..=1,
    /// `chr(a)`
    Chr "chr" 1..=1,
    /// `format(a, b)`
    Format "format" 2..=2,
    /// The integer that `"%d" % a` writes.
    IntToWrite "%d" 1..=1,
    /// `a.split()`, `a.split(b)`, `a.split(b, most)`
    Split ".split" 1..=3,
    /// `a.rsplit()`, `a.rsplit(b)`, `a.rsplit(b, most)`
    SplitFromEnd ".rsplit" 1..=3,
    /// `a.splitlines()`
    SplitLines ".splitlines" 1..=1,
    /// `a.partition(b)`
    Partition ".partition" 2..=2,
    /// `a.rpartition(b)`
    PartitionFromEnd ".rpartition" 2..=2,
    /// `a.join(b)`
    Join ".join" 2..=2,
    /// `a.strip()`, `a.strip(b)`
    Strip ".strip" 1..=2,
    /// `a.lstrip()`, `a.lstrip(b)`
    StripStart ".lstrip" 1..=2,
    /// `a.rstrip()`, `a.rstrip(b)`
    StripEnd ".rstrip" 1..=2,
    /// `a.removeprefix(b)`
    RemovePrefix ".removeprefix" 2..=2,
    /// `a.removesuffix(b)`
    RemoveSuffix ".removesuffix" 2..=2,
    /// `a.lower()`
    Lower ".lower" 1..=1,
    /// `a.upper()`
    Upper ".upper" 1..=1,
    /// `a.title()`
    Title ".title" 1..=1,
    /// `a.capitalize()`
    Capitalize ".capitalize" 1..=1,
    /// `a.swapcase()`
    SwapCase ".swapcase" 1..=1,
    /// `a.casefold()`
    FoldCase ".casefold" 1..=1,
    /// `a.startswith(b)`
    StartsWith ".startswith" 2..=2,
    /// `a.endswith(b)`
    EndsWith ".endswith" 2..=2,
    /// `a.find(b)`
    Find ".find" 2..=2,
    /// `a.rfind(b)`
    FindFromEnd ".rfind" 2..=2,
    /// `a.index(b)`
    Index ".index" 2..=2,
    /// `a.rindex(b)`
    IndexFromEnd ".rindex" 2..=2,
    /// `a.count(b)`
    Count ".count" 2..=2,
    /// `a.replace(b, c)`, `a.replace(b, c, most)`
    Replace ".replace" 3..=4,
    /// `a.zfill(width)`
    FillWithZeros ".zfill" 2..=2,
    /// `a.ljust(width)`, `a.ljust(width, fill)`
    AlignLeft ".ljust" 2..=3,
    /// `a.rjust(width)`, `a.rjust(width, fill)`
    AlignRight ".rjust" 2..=3,
    /// `a.center(width)`, `a.center(width, fill)`
    Center ".center" 2..=3,
    /// `a.isalnum()`
    IsAlphanumeric ".isalnum" 1..=1,
    /// `a.isalpha()`
    IsAlphabetic ".isalpha" 1..=1,
    /// `a.isascii()`
    IsAscii ".isascii" 1..=1,
    /// `a.isdecimal()`
    IsDecimal ".isdecimal" 1..=1,
    /// `a.isdigit()`
    IsDigit ".isdigit" 1..=1,
    /// `a.isnumeric()`
    IsNumeric ".isnumeric" 1..=1,
    /// `a.islower()`
    IsLower ".islower" 1..=1,
    /// `a.isupper()`
    IsUpper ".isupper" 1..=1,
    /// `a.isspace()`
    IsSpace ".isspace" 1..=1,
    ;
    /// A function of the module `math`.
    Math(Math),
}
