package org.apache.spark.network.client;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import java.io.Closeable;
import java.net.SocketAddress;
import java.nio.ByteBuffer;

/**
 * Compile-time stand-in with the signatures of Spark 4.3, whose artifacts are not in Maven Central; everything else
 * that the bridge uses is as in 4.2. Not part of the jar.
 */
public class TransportClient implements Closeable {
  public TransportClient(Channel channel, TransportResponseHandler handler) {
    throw new AssertionError("compile-time class");
  }

  public Channel getChannel() {
    throw new AssertionError("compile-time class");
  }

  public boolean isActive() {
    throw new AssertionError("compile-time class");
  }

  public SocketAddress getSocketAddress() {
    throw new AssertionError("compile-time class");
  }

  public long sendRpc(ByteBuffer message, RpcResponseCallback callback) {
    throw new AssertionError("compile-time class");
  }

  public ChannelFuture send(ByteBuffer message) {
    throw new AssertionError("compile-time class");
  }

  public ChannelFuture send(ByteBuf message) {
    throw new AssertionError("compile-time class");
  }

  public void removeRpcRequest(long id) {
    throw new AssertionError("compile-time class");
  }

  @Override
  public void close() {
    throw new AssertionError("compile-time class");
  }
}
