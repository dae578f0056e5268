use crate::abi::{
    FIRESTEEL_NULLS_GIVEN, FIRESTEEL_NULLS_SKIPPED, FIRESTEEL_VOLATILITY_IMMUTABLE,
    FIRESTEEL_VOLATILITY_STABLE, FIRESTEEL_VOLATILITY_VOLATILE, firesteel_nulls,
    firesteel_volatility,
};

/// A function's name, types and properties. [`Volatility::Immutable`] and [`Nulls::Given`] if nothing else is said.
#[derive(Debug, Clone)]
pub struct Declaration {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) volatility: Volatility,
    pub(crate) nulls: Nulls,
    pub(crate) signatures: Vec<Signature>,
}

/// Texts of [`crate::types`].
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    pub(crate) arguments: String,
    pub(crate) result: String,
}

impl Declaration {
    /// A function's name in SQL: letters, digits and underscores.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            volatility: Volatility::Immutable,
            nulls: Nulls::Given,
            signatures: Vec::new(),
        }
    }

    /// One line for people.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Adds types that the function takes and gives, as [`crate::abi::firesteel_signature`] has them. There is one
    /// signature at least, and they are numbered from 0 on.
    #[must_use]
    pub fn signature(mut self, arguments: impl Into<String>, result: impl Into<String>) -> Self {
        self.signatures.push(Signature {
            arguments: arguments.into(),
            result: result.into(),
        });
        self
    }

    /// How often the function may be called for the same values.
    #[must_use]
    pub fn volatility(mut self, volatility: Volatility) -> Self {
        self.volatility = volatility;
        self
    }

    /// What becomes of nulls among the arguments.
    #[must_use]
    pub fn nulls(mut self, nulls: Nulls) -> Self {
        self.nulls = nulls;
        self
    }
}

/// How often a function may be called for the same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volatility {
    /// The same arguments give the same result, always.
    Immutable,
    /// The same arguments give the same result within a query.
    Stable,
    /// Every call may give another result: Spark's `asNondeterministic`.
    Volatile,
}

impl Volatility {
    pub(crate) fn code(self) -> firesteel_volatility {
        match self {
            Self::Immutable => FIRESTEEL_VOLATILITY_IMMUTABLE,
            Self::Stable => FIRESTEEL_VOLATILITY_STABLE,
            Self::Volatile => FIRESTEEL_VOLATILITY_VOLATILE,
        }
    }
}

/// What becomes of nulls among the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// The function is given nulls.
    Given,
    /// A row with a null gives null (an aggregate leaves it out), and the function is not called for it.
    Skipped,
}

impl Nulls {
    pub(crate) fn code(self) -> firesteel_nulls {
        match self {
            Self::Given => FIRESTEEL_NULLS_GIVEN,
            Self::Skipped => FIRESTEEL_NULLS_SKIPPED,
        }
    }
}
