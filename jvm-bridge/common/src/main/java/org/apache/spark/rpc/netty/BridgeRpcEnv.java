package org.apache.spark.rpc.netty;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.rpc.RpcAddress;
import org.apache.spark.rpc.RpcEndpoint;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnvConfig;
import org.apache.spark.serializer.JavaSerializerInstance;
import org.firesteel.bridge.Bridge;
import org.firesteel.bridge.LocalDirs;
import org.firesteel.bridge.Reflect;

/** Spark's RPC environment with the native executor in the place of the connection to the driver. */
public final class BridgeRpcEnv extends NettyRpcEnv {
  /** Which of a backend's environments this is. */
  public enum Role { FETCHER, EXECUTOR }

  private static final String BLOCK_MANAGER_PORT = "spark.blockManager.port";
  private static final String ENDPOINT = "Executor";

  private final int cores;
  private final Dispatcher router;
  private final BridgeTransportClient client;
  private String userPort;
  private boolean connected;

  public BridgeRpcEnv(RpcEnvConfig config, JavaSerializerInstance serializer, Role role) {
    super(config.conf(), serializer, config.advertiseAddress(), config.securityManager(), config.numUsableCores());
    this.cores = config.numUsableCores();
    try {
      this.router = (Dispatcher) Reflect.get(this, "dispatcher");
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
    this.client = new BridgeTransportClient(this, role);
    if (role == Role.EXECUTOR) {
      hideBlockManagerPort();
      Bridge.connect(this);
    }
  }

  public BridgeTransportClient driverClient() {
    return client;
  }

  @Override
  public TransportClient createClient(RpcAddress address) {
    if (!isDriver(address)) {
      return super.createClient(address);
    }
    synchronized (this) {
      if (connected) {
        return client;
      }
      connected = true;
    }
    router.postToAll(new RemoteProcessConnected(address));
    return client;
  }

  @Override
  public ReadableByteChannel openChannel(String uri) {
    return new BridgeChannel(uri);
  }

  @Override
  public RpcEndpointRef setupEndpoint(String name, RpcEndpoint endpoint) {
    if (!ENDPOINT.equals(name)) {
      return super.setupEndpoint(name, endpoint);
    }
    showBlockManagerPort();
    try {
      LocalDirs.adopt(SparkEnv.get().blockManager().diskBlockManager());
    } catch (ReflectiveOperationException | IOException e) {
      throw new IllegalStateException("Cannot use the executor's local directories", e);
    }
    RpcEndpointRef ref = super.setupEndpoint(name, endpoint);
    Bridge.endpointReady(endpoint, cores);
    return ref;
  }

  /** Gives a message of the driver to its endpoint, as the driver's connection would. */
  public void deliver(ByteBuffer envelope, RpcResponseCallback callback) {
    RequestMessage message = RequestMessage.apply(this, client, envelope);
    if (message.senderAddress() == null) {
      message = new RequestMessage(Bridge.driver(), message.receiver(), message.content());
    }
    if (callback == null) {
      router.postOneWayMessage(message);
    } else {
      router.postRemoteMessage(message, callback);
    }
  }

  /** Tells everybody, in the order in which a closed connection would. */
  public void driverLost() {
    RpcAddress driver = Bridge.driver();
    removeOutbox(driver);
    router.postToAll(new RemoteProcessDisconnected(driver));
    client.closed(new IOException("Connection from " + driver + " closed"));
  }

  private boolean isDriver(RpcAddress address) {
    if (address.equals(Bridge.driver())) {
      return true;
    }
    // Heartbeats and driver plugins find the driver by these two properties.
    SparkConf conf = conf();
    return address.host().equals(conf.get("spark.driver.host", null))
        && address.port() == conf.getInt("spark.driver.port", -1);
  }

  /**
   * The executor's port belongs to the native side. This JVM's transfer service, which is created after its RPC
   * environment, only fetches and takes any port; user code sees the configured value again before it runs.
   */
  private void hideBlockManagerPort() {
    userPort = conf().get(BLOCK_MANAGER_PORT, null);
    if (userPort != null) {
      conf().set(BLOCK_MANAGER_PORT, "0");
    }
  }

  private void showBlockManagerPort() {
    if (userPort != null) {
      conf().set(BLOCK_MANAGER_PORT, userPort);
    }
  }
}
