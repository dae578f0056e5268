//! Tasks that read tables of Iceberg's: their files, and what JSON says of columns.
#![no_main]

firesteel_fuzz::target!(catalyst::fuzzing::table_files);
