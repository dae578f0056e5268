package org.firesteel.bridge;

import io.netty.buffer.ByteBuf;
import io.netty.channel.FileRegion;
import io.netty.util.ReferenceCountUtil;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.storage.BlockManagerManagedBuffer;

/** Hands a block to the native side: by file name where it is a plain file, else with one copy. */
final class BlockSender {
  private BlockSender() {}

  static void send(long id, ManagedBuffer block) throws Exception {
    if (block instanceof FileSegmentManagedBuffer) {
      FileSegmentManagedBuffer segment = (FileSegmentManagedBuffer) block;
      Native.blockFile(id, segment.getFile().getPath(), segment.getOffset(), segment.getLength());
      return;
    }
    if (block instanceof BlockManagerManagedBuffer) {
      Object data = Reflect.get(block, "data");
      if (data.getClass().getName().equals("org.apache.spark.storage.DiskBlockData")) {
        Native.blockFile(id, ((File) Reflect.get(data, "file")).getPath(), 0, block.size());
        return;
      }
    }
    Native.blockBegin(id, block.size());
    // The form that Spark would write to a socket: chunks in memory, or a decrypting stream.
    Object message = block.convertToNetty();
    try {
      Sink sink = new Sink(id);
      if (message instanceof ByteBuf) {
        for (ByteBuffer piece : ((ByteBuf) message).nioBuffers()) {
          sink.write(piece);
        }
      } else {
        FileRegion region = (FileRegion) message;
        while (region.transferred() < region.count()) {
          if (region.transferTo(sink, region.transferred()) <= 0) {
            throw new EOFException("Block ends after " + region.transferred() + " of " + region.count() + " bytes");
          }
        }
      }
    } finally {
      ReferenceCountUtil.release(message);
    }
    Native.blockEnd(id);
  }

  private static final class Sink implements WritableByteChannel {
    private final long id;

    Sink(long id) {
      this.id = id;
    }

    @Override
    public int write(ByteBuffer piece) {
      int length = piece.remaining();
      if (piece.isDirect()) {
        Native.blockAppendDirect(id, piece, piece.position(), length);
      } else {
        Buffers.pass(piece, (bytes, offset, n) -> Native.blockAppend(id, bytes, offset, n));
      }
      piece.position(piece.limit());
      return length;
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public void close() throws IOException {}
  }
}
