//! Command lines: java launcher syntax, executor arguments, exec of the real JDK.
