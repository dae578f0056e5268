package org.firesteel.bridge;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.ExceptionFailure;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.executor.CommitDeniedException;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.Task;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.List;
import scala.collection.immutable.Nil$;
import scala.reflect.ClassTag$;

/** What is above the native operators of a task: Spark's own task does it, with their rows. */
final class RestOfTask {
  private static final byte DONE = 3;
  private static final byte FAILED = 4;

  private static final Map<TaskContext, RestOfTask> RUNNING = new ConcurrentHashMap<>();

  private final GivenRows.Source source;
  private final int columns;
  private volatile boolean begun;

  private RestOfTask(GivenRows.Source source, int columns) {
    this.source = source;
    this.columns = columns;
  }

  static RestOfTask of(TaskContext context) {
    RestOfTask rest = RUNNING.get(context);
    if (rest == null) {
      throw new IllegalStateException("native rows outside of their task");
    }
    return rest;
  }

  /**
   * Runs it: the id that the driver gave, the number of columns, the length of the task, the task, the stage's binary.
   * Gives what it returns, or why it failed.
   *
   * @throws Exception it failed before it asked for rows. As nothing but it has been begun, it may be begun again.
   */
  static Rows run(ByteBuffer in, TaskContext context, GivenRows.Source source) throws Exception {
    final long id = in.getLong();
    RestOfTask rest = new RestOfTask(source, in.getInt());
    byte[] serialized = new byte[in.getInt()];
    in.get(serialized);
    byte[] binary = new byte[in.remaining()];
    in.get(binary);
    // Writers name what they write by it.
    Reflect.set(context, "taskAttemptId", id);
    SparkEnv.get().blockManager().registerTask(id);
    RUNNING.put(context, rest);
    try {
      SerializerInstance serializer = SparkEnv.get().closureSerializer().newInstance();
      ClassLoader loader = Thread.currentThread().getContextClassLoader();
      Task<?> task = Reflect.cast(serializer.<Object>deserialize(
          ByteBuffer.wrap(serialized), loader, ClassTag$.MODULE$.Any()));
      Reflect.set(task, "taskBinary", new GivenBinary(binary));
      Object value = task.runTask(context);
      context.markTaskCompleted(Option.empty());
      SerializerInstance ofResults = SparkEnv.get().serializer().newInstance();
      return answer(new byte[] {DONE}, ofResults.serialize(value, ClassTag$.MODULE$.Any()));
    } catch (VirtualMachineError e) {
      throw e;
    } catch (Throwable t) {
      ended(context, t);
      if (!rest.begun) {
        throw t;
      }
      return failure((TaskContextImpl) context, t);
    } finally {
      RUNNING.remove(context);
      SparkEnv.get().blockManager().releaseAllLocksForTask(id);
    }
  }

  /** Has those know who wait for the end of the task. */
  private static void ended(TaskContext context, Throwable thrown) {
    try {
      context.markTaskFailed(thrown);
    } catch (RuntimeException e) {
      thrown.addSuppressed(e);
    }
    try {
      context.markTaskCompleted(Option.apply(thrown));
    } catch (RuntimeException e) {
      thrown.addSuppressed(e);
    }
  }

  /** As Spark's {@code TaskRunner} tells the driver. */
  private static Rows failure(TaskContextImpl context, Throwable thrown) {
    SerializerInstance serializer = SparkEnv.get().closureSerializer().newInstance();
    Option<FetchFailedException> fetch = context.fetchFailed();
    if (fetch.isDefined()) {
      return failure(serializer, false, fetch.get().toTaskFailedReason());
    }
    int depth = 0;
    for (Throwable cause = thrown; cause != null && depth < 100; cause = cause.getCause(), depth++) {
      if (cause instanceof CommitDeniedException) {
        return failure(serializer, true, ((CommitDeniedException) cause).toTaskCommitDeniedReason());
      }
    }
    List<AccumulableInfo> none = Reflect.cast(Nil$.MODULE$);
    try {
      return failure(serializer, false, new ExceptionFailure(thrown, none));
    } catch (RuntimeException e) {
      // Its object cannot be written.
      return failure(serializer, false, new ExceptionFailure(thrown, none, false));
    }
  }

  private static Rows failure(SerializerInstance serializer, boolean killed, TaskFailedReason reason) {
    byte[] head = {FAILED, (byte) (killed ? 1 : 0)};
    return answer(head, serializer.serialize(reason, ClassTag$.MODULE$.Any()));
  }

  private static Rows answer(byte[] head, ByteBuffer bytes) {
    Rows answer = new Rows(head.length + bytes.remaining());
    answer.add(ByteBuffer.wrap(head));
    answer.add(bytes);
    return answer;
  }

  /** The rows of the native operators, once. */
  Iterator<InternalRow> rows() {
    if (begun) {
      throw new IllegalStateException("rows of native operators are asked for again");
    }
    begun = true;
    GivenRows rows = new GivenRows(source, 0, columns);
    // Spark's operators have sorted and grouped what they read when somebody gets to see their rows.
    rows.hasNext();
    return rows;
  }
}
