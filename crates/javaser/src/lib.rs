//! Java object streams, class files and `serialVersionUID`s. No I/O beyond reading class-path jars, no unsafe.
#![forbid(unsafe_code)]
