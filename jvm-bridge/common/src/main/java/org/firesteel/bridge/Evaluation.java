package org.firesteel.bridge;

import java.nio.ByteBuffer;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractPartialFunction;

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
    int columns = in.getInt();
    long[] ids = new long[3 * columns];
    in.asLongBuffer().get(ids);
    in.position(in.position() + 8 * ids.length);
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    Object expression =
        SparkEnv.get().closureSerializer().newInstance().deserialize(in.slice(), loader, ClassTag$.MODULE$.Any());
    Expression bound = ((Expression) expression).transform(new Binding(ids));
    // Only the class can say so of Hive's functions: whoever asked leaves the task to Spark.
    if (!bound.deterministic()) {
      throw new IllegalStateException("not deterministic: " + expression);
    }
    UnsafeProjection projection = UnsafeProjection.create(bound);
    projection.initialize(context.partitionId());
    return new Evaluation(columns, projection, context);
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

  /**
   * Puts places of columns where their names were. Any may be null, for what is said of it may be out of date.
   * Variables of lambdas around the expression are columns, too.
   */
  private static final class Binding extends AbstractPartialFunction<Expression, Expression> {
    private final long[] ids;

    Binding(long[] ids) {
      this.ids = ids;
    }

    @Override
    public boolean isDefinedAt(Expression expression) {
      return expression instanceof AttributeReference
          || expression instanceof NamedLambdaVariable && place((NamedExpression) expression) >= 0;
    }

    @Override
    public Expression apply(Expression expression) {
      int place = place((NamedExpression) expression);
      if (place < 0) {
        throw new IllegalStateException("no column " + expression);
      }
      return new BoundReference(place, expression.dataType(), true);
    }

    @Override
    public <A extends Expression, B> B applyOrElse(A expression, scala.Function1<A, B> otherwise) {
      return isDefinedAt(expression) ? castTo(apply(expression)) : otherwise.apply(expression);
    }

    @SuppressWarnings("unchecked")
    private static <B> B castTo(Expression expression) {
      return (B) expression;
    }

    private int place(NamedExpression column) {
      long id = column.exprId().id();
      long most = column.exprId().jvmId().getMostSignificantBits();
      long least = column.exprId().jvmId().getLeastSignificantBits();
      for (int at = 0; at < ids.length; at += 3) {
        if (ids[at] == id && ids[at + 1] == most && ids[at + 2] == least) {
          return at / 3;
        }
      }
      return -1;
    }
  }
}
