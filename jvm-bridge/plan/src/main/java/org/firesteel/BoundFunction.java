package org.firesteel;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.util.TaskCompletionListener;

/** A function that the native side has bound for a task, or for the driver if that is null. */
final class BoundFunction implements TaskCompletionListener {
  private final NativeCalls calls = NativeCalls.get();
  private final TaskContext context;
  private final UnsafeProjection toRow;
  private final DataType result;
  private long number;

  BoundFunction(String[] texts, long[] numbers, TaskContext context, DataType[] arguments, DataType result) {
    this.context = context;
    this.toRow = UnsafeProjection.create(arguments);
    this.result = result;
    this.number = calls.bind(texts, numbers);
  }

  boolean isOf(TaskContext other) {
    return context == other;
  }

  Object call(InternalRow row) {
    byte[] bytes = calls.call(number, toRow.apply(row).getBytes());
    if (bytes == null) {
      return null;
    }
    UnsafeRow made = new UnsafeRow(1);
    made.pointTo(bytes, bytes.length);
    return made.get(0, result);
  }

  synchronized void close() {
    if (number != 0) {
      calls.unbind(number);
    }
    number = 0;
  }

  @Override
  public void onTaskCompletion(TaskContext ended) {
    close();
  }
}
