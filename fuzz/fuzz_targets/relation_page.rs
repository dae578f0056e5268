//! What a `LongHashedRelation` holds: keys with addresses, and the page of rows.
#![no_main]

firesteel_fuzz::target!(rows::fuzzing::relation_page);
