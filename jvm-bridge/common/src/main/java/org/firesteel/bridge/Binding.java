package org.firesteel.bridge;

import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import scala.runtime.AbstractPartialFunction;

/**
 * Puts places of columns where their names were. Any may be null, for what is said of it may be out of date. Variables
 * of lambdas around the expression are columns, too.
 */
final class Binding extends AbstractPartialFunction<Expression, Expression> {
  /** Of each column the three parts of its {@code ExprId}. */
  private final long[] ids;

  private Binding(long[] ids) {
    this.ids = ids;
  }

  /** Number of columns; of each the three parts of its {@code ExprId}. */
  static Binding read(ByteBuffer in) {
    long[] ids = new long[3 * in.getInt()];
    in.asLongBuffer().get(ids);
    in.position(in.position() + 8 * ids.length);
    return new Binding(ids);
  }

  int columns() {
    return ids.length / 3;
  }

  Expression of(Expression expression) {
    return expression.transform(this);
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
    return isDefinedAt(expression) ? Reflect.cast(apply(expression)) : otherwise.apply(expression);
  }

  /** Where a column is; -1 if it is none of these. */
  int place(NamedExpression column) {
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
