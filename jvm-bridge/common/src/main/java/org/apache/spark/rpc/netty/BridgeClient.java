package org.apache.spark.rpc.netty;

import io.netty.channel.Channel;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.client.TransportResponseHandler;
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages;
import org.firesteel.bridge.Bridge;
import org.firesteel.bridge.Buffers;
import org.firesteel.bridge.Native;

/**
 * A connection to the driver that is none: envelopes go to the native executor. The way to send one-way messages
 * differs between Spark versions and is in the subclass.
 */
abstract class BridgeClient extends TransportClient {
  private static final AtomicLong IDS = new AtomicLong();

  private final BridgeRpcEnv env;
  private final BridgeRpcEnv.Role role;
  private final ConcurrentHashMap<Long, RpcResponseCallback> asks = new ConcurrentHashMap<>();
  private volatile IOException closed;

  BridgeClient(BridgeRpcEnv env, BridgeRpcEnv.Role role) {
    this(env, role, new EmbeddedChannel());
  }

  private BridgeClient(BridgeRpcEnv env, BridgeRpcEnv.Role role, Channel channel) {
    super(channel, new TransportResponseHandler(channel));
    this.env = env;
    this.role = role;
  }

  final void tell(ByteBuffer envelope) {
    if (closed == null) {
      Buffers.pass(envelope, Native::tell);
    }
  }

  @Override
  public long sendRpc(ByteBuffer envelope, RpcResponseCallback callback) {
    if (role == BridgeRpcEnv.Role.FETCHER && answeredHere(envelope, callback)) {
      return 0;
    }
    long id = IDS.incrementAndGet();
    asks.put(id, callback);
    IOException gone = closed;
    if (gone != null) {
      failed(id, gone);
    } else {
      try {
        Buffers.pass(envelope, (bytes, offset, length) -> Native.ask(id, bytes, offset, length));
      } catch (RuntimeException e) {
        failed(id, e);
      }
    }
    return id;
  }

  @Override
  public void removeRpcRequest(long id) {
    asks.remove(id);
  }

  /** An answer came. */
  public final void succeeded(long id, ByteBuffer reply) {
    RpcResponseCallback callback = asks.remove(id);
    if (callback != null) {
      callback.onSuccess(reply);
    }
  }

  /** No answer will come. */
  public final void failed(long id, Throwable cause) {
    RpcResponseCallback callback = asks.remove(id);
    if (callback != null) {
      callback.onFailure(cause);
    }
  }

  final void closed(IOException cause) {
    closed = cause;
    asks.keySet().forEach(id -> failed(id, cause));
  }

  @Override
  public boolean isActive() {
    return closed == null;
  }

  @Override
  public SocketAddress getSocketAddress() {
    return InetSocketAddress.createUnresolved(Bridge.driver().host(), Bridge.driver().port());
  }

  @Override
  public void close() {
    // The connection is the native side's.
  }

  @Override
  public String toString() {
    return "BridgeClient[" + Bridge.driver() + "]";
  }

  /** The native side asked the driver already; its answer is kept. */
  private boolean answeredHere(ByteBuffer envelope, RpcResponseCallback callback) {
    Object question = RequestMessage.apply(env, this, envelope.duplicate()).content();
    if (question instanceof RpcEndpointVerifier.CheckExistence) {
      callback.onSuccess(env.serialize(Boolean.TRUE));
      return true;
    }
    if (question instanceof CoarseGrainedClusterMessages.RetrieveSparkAppConfig) {
      callback.onSuccess(ByteBuffer.wrap(Native.appConfig()));
      return true;
    }
    return false;
  }
}
