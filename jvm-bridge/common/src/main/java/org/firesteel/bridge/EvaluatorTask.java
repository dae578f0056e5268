package org.firesteel.bridge;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.JobArtifactSet;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.Task;
import scala.Option;

/** Evaluates what a native task asks for until that ends. */
final class EvaluatorTask extends Task<Object> {
  private static final long serialVersionUID = 1;

  private final long id;

  EvaluatorTask(
      long id, int stage, int stageAttempt, int partition, int partitions, JobArtifactSet artifacts,
      Properties properties, byte[] metrics) {
    super(stage, stageAttempt, partition, partitions, artifacts, properties, metrics, Option.empty(), Option.empty(),
        Option.empty(), false);
    this.id = id;
  }

  /** Each message: number of the expression; length of the expression or 0 if it came before, the expression; rows. */
  @Override
  public Object runTask(TaskContext context) {
    Map<Long, Evaluation> known = new HashMap<>();
    byte[] message;
    while ((message = Native.nextRows(id)) != null) {
      try {
        ByteBuffer in = ByteBuffer.wrap(message);
        long number = in.getLong();
        int length = in.getInt();
        if (length > 0) {
          ByteBuffer expression = in.slice();
          expression.limit(length);
          in.position(in.position() + length);
          known.put(number, Evaluation.read(expression, context));
        }
        Rows results = known.get(number).evaluate(in);
        Native.rowsDone(id, results.array(), 0, results.size());
      } catch (VirtualMachineError e) {
        // For Spark to judge, as in any task.
        throw e;
      } catch (Throwable e) {
        context.killTaskIfInterrupted();
        Native.rowsFailed(id, Bridge.stackTrace(e));
      }
    }
    return null;
  }
}
