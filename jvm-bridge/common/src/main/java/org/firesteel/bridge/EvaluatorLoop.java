package org.firesteel.bridge;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.util.AccumulatorV2;
import org.apache.spark.util.LongAccumulator;
import scala.Option;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;

/**
 * Does what a native task asks for until that ends. The other side is {@code messages.rs}. Operators on objects ask for
 * rows while they make some; what the native task asks for before it has them is done within that.
 */
final class EvaluatorLoop {
  private static final byte EVALUATE = 0;
  private static final byte NEXT = 1;
  private static final byte ROWS = 2;
  private static final byte END = 3;
  private static final byte FINISH = 4;
  private static final byte REST = 5;
  private static final byte WANTED = 0;

  private final long id;
  private final TaskContext context;
  private final Accumulators accumulators;
  private final Map<Long, Evaluation> expressions = new HashMap<>();
  private final Map<Long, ObjectOperators> operators = new HashMap<>();

  /** What a task's functions have added to. */
  interface Accumulators {
    Iterator<AccumulatorV2<?, ?>> get();
  }

  EvaluatorLoop(long id, TaskContext context, Accumulators accumulators) {
    this.id = id;
    this.context = context;
    this.accumulators = accumulators;
  }

  void run() {
    byte[] message;
    while ((message = Native.nextRows(id)) != null) {
      if (message[0] == FINISH) {
        finish();
        return;
      }
      answer(ByteBuffer.wrap(message));
    }
  }

  /** Rows of an input of operators, which have asked for them; null after the last. */
  ByteBuffer rows(long number, int input) {
    context.killTaskIfInterrupted();
    byte[] wanted = ByteBuffer.allocate(5).put(WANTED).putInt(input).array();
    Native.rowsDone(id, wanted, 0, wanted.length);
    byte[] message;
    while ((message = Native.nextRows(id)) != null) {
      ByteBuffer in = ByteBuffer.wrap(message);
      if ((message[0] == ROWS || message[0] == END) && in.getLong(1) == number) {
        in.position(9);
        return message[0] == ROWS ? in : null;
      }
      answer(in);
    }
    context.killTaskIfInterrupted();
    throw new IllegalStateException("the native task has ended");
  }

  private void answer(ByteBuffer in) {
    try {
      Rows results = evaluate(in);
      Native.rowsDone(id, results.array(), 0, results.size());
    } catch (VirtualMachineError e) {
      // For Spark to judge, as in any task.
      throw e;
    } catch (Throwable e) {
      context.killTaskIfInterrupted();
      Native.rowsFailed(id, Bridge.stackTrace(e));
    }
  }

  private Rows evaluate(ByteBuffer in) throws Exception {
    byte kind = in.get();
    long number = in.getLong();
    if (kind != EVALUATE && kind != NEXT && kind != REST) {
      throw new IllegalStateException("nobody has asked for rows");
    }
    int length = in.getInt();
    ByteBuffer definition = in.slice();
    definition.limit(length);
    in.position(in.position() + length);
    if (kind == EVALUATE) {
      if (length > 0) {
        expressions.put(number, Evaluation.read(definition, context));
      }
      return expressions.get(number).evaluate(in);
    }
    if (kind == REST) {
      return RestOfTask.run(definition, context, input -> rows(number, input));
    }
    if (length > 0) {
      operators.put(number, ObjectOperators.read(definition, context, input -> rows(number, input)));
    }
    ObjectOperators running = operators.get(number);
    Rows made = running.make();
    if (running.ended()) {
      operators.remove(number);
    }
    return made;
  }

  /**
   * Ends what is left to be done at the end of the task. Gives what was counted, which goes with the native task's
   * result: the number of Spark's own numbers, each a name and a value; other accumulators, each as a stream of its own
   * behind its length.
   */
  private void finish() {
    try {
      // Sources count until they are closed.
      context.markTaskCompleted(Option.empty());
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      DataOutputStream out = new DataOutputStream(bytes);
      List<LongAccumulator> own = new ArrayList<>();
      for (Iterator<AccumulatorV2<?, ?>> all = accumulators.get(); all.hasNext(); ) {
        AccumulatorV2<?, ?> accumulator = all.next();
        if (isOwn(accumulator) && accumulator instanceof LongAccumulator && !accumulator.isZero()) {
          own.add((LongAccumulator) accumulator);
        }
      }
      out.writeInt(own.size());
      for (LongAccumulator number : own) {
        out.writeUTF(number.name().get());
        out.writeLong(number.sum());
      }
      SerializerInstance serializer = SparkEnv.get().closureSerializer().newInstance();
      for (Iterator<AccumulatorV2<?, ?>> all = accumulators.get(); all.hasNext(); ) {
        AccumulatorV2<?, ?> accumulator = all.next();
        if (!isOwn(accumulator)) {
          ByteBuffer stream = serializer.serialize(accumulator, ClassTag$.MODULE$.Any());
          out.writeInt(stream.remaining());
          out.write(stream.array(), stream.arrayOffset() + stream.position(), stream.remaining());
          // This task's own result, which nobody reads, does not get it again.
          accumulator.reset();
        }
      }
      Native.rowsDone(id, bytes.toByteArray(), 0, bytes.size());
    } catch (IOException | RuntimeException e) {
      Native.rowsFailed(id, Bridge.stackTrace(e));
    }
  }

  /** Whether it counts for Spark's {@code TaskMetrics}. */
  private static boolean isOwn(AccumulatorV2<?, ?> accumulator) {
    return !accumulator.name().isEmpty() && accumulator.name().get().startsWith("internal.metrics.");
  }
}
