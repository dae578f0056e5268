package org.firesteel.bridge;

import org.apache.spark.broadcast.Broadcast;
import scala.reflect.ClassTag$;

/** The binary of a stage, in place of the broadcast with that of the driver. */
final class GivenBinary extends Broadcast<byte[]> {
  private static final long serialVersionUID = 1;

  private final byte[] value;

  GivenBinary(byte[] value) {
    super(-1, ClassTag$.MODULE$.apply(byte[].class));
    this.value = value;
  }

  @Override
  public byte[] getValue() {
    return value;
  }

  @Override
  public void doUnpersist(boolean blocking) {}

  @Override
  public void doDestroy(boolean blocking) {}
}
