package org.firesteel.bridge;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeRowJoiner;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowJoiner;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.List;

/** Columns behind those of another row. */
final class UnsafeRowPair {
  private final UnsafeRowJoiner joiner;

  UnsafeRowPair(List<Expression> first, List<Expression> second) {
    joiner = GenerateUnsafeRowJoiner.create(schema(first), schema(second));
  }

  UnsafeRow join(UnsafeRow first, UnsafeRow second) {
    return joiner.join(first, second);
  }

  private static StructType schema(List<Expression> columns) {
    StructType schema = new StructType();
    for (List<Expression> all = columns; all.nonEmpty(); all = Reflect.cast(all.tail())) {
      schema = schema.add("", all.head().dataType(), true);
    }
    return schema;
  }
}
