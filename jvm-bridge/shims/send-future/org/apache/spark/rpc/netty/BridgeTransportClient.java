package org.apache.spark.rpc.netty;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import java.nio.ByteBuffer;

/** One-way messages from Spark 4.3 on: the sender may wait for the write. */
public final class BridgeTransportClient extends BridgeClient {
  BridgeTransportClient(BridgeRpcEnv env, BridgeRpcEnv.Role role) {
    super(env, role);
  }

  @Override
  public ChannelFuture send(ByteBuffer envelope) {
    tell(envelope);
    return getChannel().newSucceededFuture();
  }

  @Override
  public ChannelFuture send(ByteBuf envelope) {
    try {
      return send(envelope.nioBuffer());
    } finally {
      envelope.release();
    }
  }
}
