package org.apache.spark.rpc.netty;

import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ReadableByteChannel;
import org.firesteel.bridge.Native;

/** A file of the driver's file server. As in Spark, a file that is not there is an error of the first read. */
final class BridgeChannel implements ReadableByteChannel {
  private long handle;
  private RuntimeException error;
  private boolean open = true;

  BridgeChannel(String uri) {
    try {
      handle = Native.openStream(uri);
    } catch (RuntimeException e) {
      error = e;
    }
  }

  @Override
  public synchronized int read(ByteBuffer target) throws ClosedChannelException {
    if (!open) {
      throw new ClosedChannelException();
    }
    if (error != null) {
      throw error;
    }
    int length = target.remaining();
    if (length == 0) {
      return 0;
    }
    int position = target.position();
    int n;
    if (target.isDirect()) {
      n = Native.readStreamDirect(handle, target, position, length);
    } else {
      n = Native.readStream(handle, target.array(), target.arrayOffset() + position, length);
    }
    if (n > 0) {
      target.position(position + n);
    }
    return n;
  }

  @Override
  public synchronized boolean isOpen() {
    return open;
  }

  @Override
  public synchronized void close() {
    if (open && error == null) {
      Native.closeStream(handle);
    }
    open = false;
  }
}
