package org.firesteel.bridge;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.rpc.netty.BridgeRpcEnv;

/** Delivers the driver's messages and answers: the part of Netty's event loop in a real executor. */
final class MessageLoop extends EventThread {
  private final BridgeRpcEnv env;
  /** Messages that came before the backend's endpoint; null once it is there. */
  private List<Runnable> early = new ArrayList<>();

  MessageLoop(BridgeRpcEnv env) {
    super("firesteel-messages", Native.MESSAGES);
    this.env = env;
  }

  @Override
  void handle(int kind, long id, byte[] payload) {
    switch (kind) {
      case Events.RPC_REQUEST:
        whenReady(() -> request(id, payload));
        break;
      case Events.ONE_WAY:
        whenReady(() -> env.deliver(ByteBuffer.wrap(payload), null));
        break;
      case Events.ASK_REPLY:
        env.driverClient().succeeded(id, ByteBuffer.wrap(payload));
        break;
      case Events.ASK_FAILURE:
        env.driverClient().failed(id, new RuntimeException(new String(payload, StandardCharsets.UTF_8)));
        break;
      case Events.DISCONNECTED:
        env.driverLost();
        break;
      case Events.EXIT:
        // Shutdown hooks may ask the driver something: this thread has to go on.
        new Thread(() -> System.exit((int) id), "firesteel-exit").start();
        break;
      case Events.START_EVALUATOR:
        whenReady(() -> Evaluators.start(id, payload));
        break;
      case Events.KILL_EVALUATOR:
        String reason = new String(payload, 1, payload.length - 1, StandardCharsets.UTF_8);
        whenReady(() -> Evaluators.kill(id, payload[0] != 0, reason));
        break;
      case Events.STARTED:
        List<Runnable> waiting = early;
        early = null;
        waiting.forEach(Runnable::run);
        break;
      default:
        log.error("Unknown event {}", kind);
    }
  }

  private void whenReady(Runnable message) {
    if (early == null) {
      message.run();
    } else {
      early.add(message);
    }
  }

  private void request(long id, byte[] envelope) {
    RpcResponseCallback callback = new RpcResponseCallback() {
      @Override
      public void onSuccess(ByteBuffer reply) {
        Buffers.pass(reply, (bytes, offset, length) -> Native.reply(id, bytes, offset, length));
      }

      @Override
      public void onFailure(Throwable e) {
        Native.replyFailure(id, Bridge.stackTrace(e));
      }
    };
    try {
      env.deliver(ByteBuffer.wrap(envelope), callback);
    } catch (VirtualMachineError e) {
      callback.onFailure(e);
      throw e;
    } catch (Throwable t) {
      callback.onFailure(t);
    }
  }
}
