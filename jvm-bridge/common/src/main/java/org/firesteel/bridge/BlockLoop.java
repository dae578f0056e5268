package org.firesteel.bridge;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.server.RpcHandler;
import org.apache.spark.rpc.netty.BridgeRpcEnv;
import org.apache.spark.storage.BlockId;

/** Reads and stores blocks for peers: the part of the shuffle server's threads in a real executor. */
final class BlockLoop extends EventThread {
  /** As many threads as Spark's block server has at most. */
  private static final int MAX_THREADS = 8;
  private static final int PIECE = 1 << 20;

  private BlockLoop(int index) {
    super("firesteel-blocks-" + index, Native.BLOCKS);
  }

  static void start(int cores) {
    int threads = Math.max(1, Math.min(cores, MAX_THREADS));
    for (int i = 0; i < threads; i++) {
      new BlockLoop(i).start();
    }
  }

  @Override
  void handle(int kind, long id, byte[] payload) {
    switch (kind) {
      case Events.GET_BLOCK:
        get(id, new String(payload, StandardCharsets.UTF_8));
        break;
      case Events.UPLOAD:
        upload(id, payload);
        break;
      case Events.UPLOAD_STREAM:
        uploadStream(id, ByteBuffer.wrap(payload));
        break;
      default:
        log.error("Unknown event {}", kind);
    }
  }

  private static void get(long id, String name) {
    try {
      ManagedBuffer block = SparkEnv.get().blockManager().getLocalBlockData(BlockId.apply(name));
      try {
        BlockSender.send(id, block);
      } finally {
        // Gives the block's read lock back.
        block.release();
      }
    } catch (Throwable t) {
      Native.blockMissing(id, Bridge.stackTrace(t));
    }
  }

  private static void upload(long id, byte[] body) {
    Uploaded callback = new Uploaded(id);
    try {
      blockServer().receive(client(), ByteBuffer.wrap(body), callback);
      // It answers before it returns, or never: malformed messages are only logged.
      callback.onFailure(new IOException("The block server gave no answer"));
    } catch (Throwable t) {
      callback.onFailure(t);
    }
  }

  /** Payload: length of the header, the header, the path of a file with the stream's bytes. */
  private static void uploadStream(long id, ByteBuffer payload) {
    Uploaded callback = new Uploaded(id);
    StreamCallbackWithID stream = null;
    try {
      int headerLength = payload.getInt();
      ByteBuffer header = payload.slice();
      header.limit(headerLength);
      payload.position(payload.position() + headerLength);
      String path = StandardCharsets.UTF_8.decode(payload).toString();
      stream = blockServer().receiveStream(client(), header, callback);
      try (FileInputStream in = new FileInputStream(new File(path))) {
        FileChannel channel = in.getChannel();
        ByteBuffer piece = ByteBuffer.allocate(PIECE);
        while (channel.read(piece) >= 0) {
          piece.flip();
          stream.onData(stream.getID(), piece);
          piece.clear();
        }
      }
      stream.onComplete(stream.getID());
      callback.onSuccess(stream.getCompletionResponse());
    } catch (Throwable t) {
      callback.onFailure(t);
      if (stream != null) {
        abandon(stream, t);
      }
    }
  }

  private static void abandon(StreamCallbackWithID stream, Throwable cause) {
    try {
      stream.onFailure(stream.getID(), cause);
    } catch (IOException e) {
      log.warn("Cannot clean up after a failed upload", e);
    }
  }

  /** Spark's own server side of the block transfer service, which its network port would call. */
  private static RpcHandler blockServer() throws ReflectiveOperationException {
    Object service = SparkEnv.get().blockManager().blockTransferService();
    Object context = Reflect.get(service, "transportContext");
    return (RpcHandler) Reflect.get(context, "rpcHandler");
  }

  private static TransportClient client() {
    return ((BridgeRpcEnv) SparkEnv.get().rpcEnv()).driverClient();
  }

  /** Sends exactly one answer. */
  private static final class Uploaded implements RpcResponseCallback {
    private final long id;
    private boolean answered;

    Uploaded(long id) {
      this.id = id;
    }

    @Override
    public void onSuccess(ByteBuffer response) {
      if (first()) {
        Buffers.pass(response, (bytes, offset, length) -> Native.uploaded(id, bytes, offset, length));
      }
    }

    @Override
    public void onFailure(Throwable e) {
      if (first()) {
        Native.uploadFailed(id, Bridge.stackTrace(e));
      }
    }

    private synchronized boolean first() {
      boolean first = !answered;
      answered = true;
      return first;
    }
  }
}
