package org.firesteel.bridge;

import java.nio.ByteBuffer;

/** Hands buffers to native methods without copying where their bytes are in a Java array. */
public final class Buffers {
  private Buffers() {}

  /** A native method that takes a part of an array. */
  public interface Target {
    void accept(byte[] bytes, int offset, int length);
  }

  /** Passes what remains of the buffer; its position stays. */
  public static void pass(ByteBuffer buffer, Target target) {
    if (buffer.hasArray()) {
      target.accept(buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.remaining());
    } else {
      byte[] copy = new byte[buffer.remaining()];
      buffer.duplicate().get(copy);
      target.accept(copy, 0, copy.length);
    }
  }
}
