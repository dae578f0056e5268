package org.firesteel.bridge;

import java.nio.ByteBuffer;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskState$;
import org.apache.spark.executor.CoarseGrainedExecutorBackend;
import org.apache.spark.executor.Executor;
import org.apache.spark.executor.ExecutorBackend;
import org.apache.spark.scheduler.TaskDescription;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Enumeration;
import scala.reflect.ClassTag$;

/**
 * Tasks that evaluate expressions for native tasks. To Spark's executor in this JVM they are tasks like others, with
 * the class loader, the properties and the files of the native task's session; the driver does not know of them.
 */
final class Evaluators {
  private static final Logger log = LoggerFactory.getLogger(Evaluators.class);

  private static volatile CoarseGrainedExecutorBackend backend;

  private Evaluators() {}

  /** The backend whose executor runs them. */
  static void connect(Object endpoint) {
    if (endpoint instanceof CoarseGrainedExecutorBackend) {
      backend = (CoarseGrainedExecutorBackend) endpoint;
    }
  }

  /**
   * Starts one. Payload: stage, its attempt, partition, number of partitions; length of the task's metrics, the
   * metrics; a {@link TaskDescription} with the evaluator's own task id.
   */
  static void start(long id, byte[] payload) {
    try {
      ByteBuffer in = ByteBuffer.wrap(payload);
      int stage = in.getInt();
      int stageAttempt = in.getInt();
      int partition = in.getInt();
      int partitions = in.getInt();
      byte[] metrics = new byte[in.getInt()];
      in.get(metrics);
      TaskDescription description = TaskDescription.decode(in);
      EvaluatorTask task = new EvaluatorTask(
          id, stage, stageAttempt, partition, partitions, description.artifacts(), description.properties(), metrics);
      ByteBuffer serialized = SparkEnv.get().closureSerializer().newInstance().serialize(task, ClassTag$.MODULE$.Any());
      Reflect.set(description, "serializedTask", serialized);
      executor().launchTask(new Backend(id), description);
    } catch (VirtualMachineError e) {
      Native.evaluatorEnded(id, e.toString());
      throw e;
    } catch (Throwable t) {
      Native.evaluatorEnded(id, Bridge.stackTrace(t));
    }
  }

  /** Makes one stop. */
  static void kill(long id, boolean interrupt, String reason) {
    executor().killTask(id, interrupt, reason);
  }

  private static Executor executor() {
    CoarseGrainedExecutorBackend known = backend;
    Executor executor = known == null ? null : known.executor();
    if (executor == null) {
      throw new IllegalStateException("the backend has no executor yet");
    }
    return executor;
  }

  /** Whom Spark's executor tells how such a task ends. */
  private static final class Backend implements ExecutorBackend {
    private final long id;

    Backend(long id) {
      this.id = id;
    }

    @Override
    public void statusUpdate(long taskId, Enumeration.Value state, ByteBuffer data) {
      if (TaskState$.MODULE$.isFinished(state)) {
        log.debug("The evaluator {} ended: {}", id, state);
        boolean failed = state != TaskState$.MODULE$.FINISHED();
        Native.evaluatorEnded(id, failed ? "its task in the JVM ended: " + state : null);
      }
    }
  }
}
