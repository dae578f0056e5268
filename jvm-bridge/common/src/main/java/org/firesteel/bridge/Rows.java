package org.firesteel.bridge;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/** A growing stream of rows, each behind its length, as {@code UnsafeRowSerializer} writes them. */
final class Rows {
  private static final int LENGTH = 4;

  private byte[] array;
  private int size;

  Rows(int expected) {
    array = new byte[Math.max(expected, 64)];
  }

  void add(UnsafeRow row) {
    int bytes = row.getSizeInBytes();
    int end = Math.addExact(size, Math.addExact(LENGTH, bytes));
    if (end > array.length) {
      array = Arrays.copyOf(array, Math.max(end, (int) Math.min(2L * array.length, Integer.MAX_VALUE - 8)));
    }
    ByteBuffer.wrap(array).putInt(size, bytes);
    Platform.copyMemory(
        row.getBaseObject(), row.getBaseOffset(), array, Platform.BYTE_ARRAY_OFFSET + size + LENGTH, bytes);
    size = end;
  }

  /** Adds bytes of another kind. */
  void add(ByteBuffer bytes) {
    int end = Math.addExact(size, bytes.remaining());
    if (end > array.length) {
      array = Arrays.copyOf(array, end);
    }
    bytes.get(array, size, end - size);
    size = end;
  }

  /** Leaves room for something before the rows. */
  void skip(int bytes) {
    size += bytes;
  }

  byte[] array() {
    return array;
  }

  int size() {
    return size;
  }
}
