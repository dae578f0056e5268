package org.firesteel.bridge;

import java.nio.ByteBuffer;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import scala.reflect.ClassTag$;

/** One expression of a stage over rows that have the columns that it refers to. */
final class Evaluation {
  /** Bytes of results after which no more rows are looked at: the native side asks again. */
  private static final int ENOUGH = 8 << 20;

  private final int columns;
  private final UnsafeProjection projection;
  private final TaskContext context;

  private Evaluation(int columns, UnsafeProjection projection, TaskContext context) {
    this.columns = columns;
    this.projection = projection;
    this.context = context;
  }

  /** Number of columns; of each the three parts of its {@code ExprId}; the expression as a stream of objects. */
  static Evaluation read(ByteBuffer in, TaskContext context) {
    Binding binding = Binding.read(in);
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    Object expression =
        SparkEnv.get().closureSerializer().newInstance().deserialize(in.slice(), loader, ClassTag$.MODULE$.Any());
    Expression bound = binding.of((Expression) expression);
    // Only the class can say so of Hive's functions: whoever asked leaves the task to Spark.
    if (!bound.deterministic()) {
      throw new IllegalStateException("not deterministic: " + expression);
    }
    UnsafeProjection projection = UnsafeProjection.create(bound);
    projection.initialize(context.partitionId());
    return new Evaluation(binding.columns(), projection, context);
  }

  /** The results for rows, as rows of one column: for the first of them if they are large. */
  Rows evaluate(ByteBuffer in) {
    Rows results = new Rows(in.remaining());
    UnsafeRow row = new UnsafeRow(columns);
    while (in.hasRemaining() && results.size() < ENOUGH) {
      context.killTaskIfInterrupted();
      int size = in.getInt();
      row.pointTo(in.array(), Platform.BYTE_ARRAY_OFFSET + in.arrayOffset() + in.position(), size);
      in.position(in.position() + size);
      results.add(projection.apply(row));
    }
    return results;
  }
}
