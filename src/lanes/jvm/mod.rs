//! The jvm lane: the only code that names `jni`.
