package org.apache.spark.rpc.netty;

import java.nio.ByteBuffer;

/** One-way messages up to Spark 4.2. */
public final class BridgeTransportClient extends BridgeClient {
  BridgeTransportClient(BridgeRpcEnv env, BridgeRpcEnv.Role role) {
    super(env, role);
  }

  @Override
  public void send(ByteBuffer envelope) {
    tell(envelope);
  }
}
