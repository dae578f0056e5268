//! Constants of the Java Object Serialization Stream Protocol, version 2
//! (Java Object Serialization Specification, chapter 6).

/// Magic number and protocol version.
pub const HEADER: [u8; 4] = [0xAC, 0xED, 0x00, 0x05];
/// First handle of a stream and after each reset.
pub const BASE_HANDLE: u32 = 0x7E_0000;

/// `null`.
pub const TC_NULL: u8 = 0x70;
/// An object that was written before: its handle follows.
pub const TC_REFERENCE: u8 = 0x71;
/// A class.
pub const TC_CLASSDESC: u8 = 0x72;
/// An object: its class follows.
pub const TC_OBJECT: u8 = 0x73;
/// A text of at most 65535 bytes.
pub const TC_STRING: u8 = 0x74;
/// An array.
pub const TC_ARRAY: u8 = 0x75;
/// A `Class` object.
pub const TC_CLASS: u8 = 0x76;
/// At most 255 bytes of a class's own.
pub const TC_BLOCKDATA: u8 = 0x77;
/// The end of what a class wrote by itself.
pub const TC_ENDBLOCKDATA: u8 = 0x78;
/// Handles begin anew.
pub const TC_RESET: u8 = 0x79;
/// More bytes of a class's own.
pub const TC_BLOCKDATALONG: u8 = 0x7A;
/// The writer failed.
pub const TC_EXCEPTION: u8 = 0x7B;
/// A longer text.
pub const TC_LONGSTRING: u8 = 0x7C;
/// A proxy's class.
pub const TC_PROXYCLASSDESC: u8 = 0x7D;
/// A constant of an enum.
pub const TC_ENUM: u8 = 0x7E;

/// The class has a `writeObject`: annotations follow its fields.
pub const SC_WRITE_METHOD: u8 = 1;
/// The class is `Serializable`.
pub const SC_SERIALIZABLE: u8 = 2;
/// The class is `Externalizable`.
pub const SC_EXTERNALIZABLE: u8 = 4;
/// An `Externalizable` class whose body is block data (protocol 2).
pub const SC_BLOCK_DATA: u8 = 8;
/// The class is an enum.
pub const SC_ENUM: u8 = 16;

/// Levels of serializable super classes that one descriptor may have. No Java class comes near.
pub(crate) const MAX_LEVELS: usize = 256;
/// A JVM's writer hands out block data in blocks of this many bytes.
pub(crate) const JVM_BLOCK: usize = 1024;
