package org.firesteel.bridge;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import org.apache.spark.rpc.RpcAddress;
import org.apache.spark.rpc.RpcEndpointAddress;
import org.apache.spark.rpc.netty.BridgeRpcEnv;

/**
 * Runs Spark's executor backend in a JVM that lives inside a native executor.
 *
 * <p>The backend's own main method does everything it does in a process of its own: properties, user, SparkEnv,
 * endpoint. It meets the bridge only where it would open an RPC environment.
 */
public final class Bridge {
  private Bridge() {}

  private static volatile RpcAddress driver;
  private static volatile MessageLoop messages;

  /** Called by the native side on the JVM's main thread. */
  static void start() {
    try {
      String[] all = Native.arguments();
      String[] args = Arrays.copyOfRange(all, 1, all.length);
      int url = Arrays.asList(args).indexOf("--driver-url");
      driver = RpcEndpointAddress.apply(args[url + 1]).rpcAddress();
      Class<?> backend = Class.forName(all[0], true, ClassLoader.getSystemClassLoader());
      backend.getMethod("main", String[].class).invoke(null, (Object) args);
    } catch (InvocationTargetException e) {
      Native.failed(stackTrace(e.getCause()));
    } catch (Throwable t) {
      Native.failed(stackTrace(t));
    }
  }

  /** The driver's address as the launch command names it; null when this JVM is not inside a native executor. */
  public static RpcAddress driver() {
    return driver;
  }

  /** The executor's RPC environment exists: answers and messages can be delivered from now on. */
  public static void connect(BridgeRpcEnv env) {
    MessageLoop loop = new MessageLoop(env);
    messages = loop;
    loop.start();
  }

  /** SparkEnv exists and the backend's endpoint was just registered. */
  public static void endpointReady(Object endpoint, int cores) {
    Evaluators.connect(endpoint);
    BlockLoop.start(cores);
    Runtime.getRuntime().addShutdownHook(new Thread(Native::shuttingDown, "firesteel-shutting-down"));
    Native.started();
  }

  static String stackTrace(Throwable t) {
    StringWriter text = new StringWriter();
    t.printStackTrace(new PrintWriter(text, true));
    return text.toString();
  }
}
