package org.firesteel.bridge;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import scala.runtime.AbstractPartialFunction;

/** A row of one object: what Spark's expressions on objects take. */
final class ObjectRow {
  private final Object[] values = new Object[1];
  private final InternalRow row = new GenericInternalRow(values);

  InternalRow of(Object object) {
    values[0] = object;
    return row;
  }

  /** Binds an expression whose only column is the object. */
  static final class Binding extends AbstractPartialFunction<Expression, Expression> {
    @Override
    public boolean isDefinedAt(Expression expression) {
      return expression instanceof AttributeReference;
    }

    @Override
    public Expression apply(Expression expression) {
      return new BoundReference(0, expression.dataType(), true);
    }

    @Override
    public <A extends Expression, B> B applyOrElse(A expression, scala.Function1<A, B> otherwise) {
      return isDefinedAt(expression) ? Reflect.cast(apply(expression)) : otherwise.apply(expression);
    }
  }
}
