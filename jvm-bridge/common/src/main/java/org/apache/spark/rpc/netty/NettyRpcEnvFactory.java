package org.apache.spark.rpc.netty;

import org.apache.spark.SparkConf;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.rpc.RpcEnvConfig;
import org.apache.spark.rpc.RpcEnvFactory;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.JavaSerializerInstance;
import org.apache.spark.util.Utils$;
import org.firesteel.bridge.Bridge;
import scala.Tuple2;
import scala.runtime.AbstractFunction1;

/**
 * Takes the place of Spark's class of this name: the bridge jar stands before Spark's on the class path.
 *
 * <p>The two environments of an executor backend, the one that fetches the properties and the executor's own, talk to
 * the driver through the native executor. Any other environment is Spark's.
 */
public class NettyRpcEnvFactory implements RpcEnvFactory {
  private static final String FETCHER = "driverPropsFetcher";
  private static final String EXECUTOR = "sparkExecutor";

  @Override
  public RpcEnv create(RpcEnvConfig config) {
    SparkConf conf = config.conf();
    JavaSerializerInstance serializer = (JavaSerializerInstance) new JavaSerializer(conf).newInstance();
    if (config.clientMode() && Bridge.driver() != null) {
      if (FETCHER.equals(config.name())) {
        return new BridgeRpcEnv(config, serializer, BridgeRpcEnv.Role.FETCHER);
      }
      if (EXECUTOR.equals(config.name())) {
        return new BridgeRpcEnv(config, serializer, BridgeRpcEnv.Role.EXECUTOR);
      }
    }
    NettyRpcEnv env = new NettyRpcEnv(
        conf, serializer, config.advertiseAddress(), config.securityManager(), config.numUsableCores());
    if (!config.clientMode()) {
      try {
        Utils$.MODULE$.startServiceOnPort(config.port(), new AbstractFunction1<Object, Tuple2<NettyRpcEnv, Object>>() {
          @Override
          public Tuple2<NettyRpcEnv, Object> apply(Object port) {
            env.startServer(config.bindAddress(), (Integer) port);
            return new Tuple2<>(env, env.address().port());
          }
        }, conf, config.name());
      } catch (Throwable t) {
        env.shutdown();
        throw t;
      }
    }
    return env;
  }
}
