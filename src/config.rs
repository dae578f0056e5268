//! Raw Spark properties to one typed, validated settings struct.
