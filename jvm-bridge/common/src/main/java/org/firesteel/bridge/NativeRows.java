package org.firesteel.bridge;

import org.apache.spark.Dependency;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.collection.Iterator;
import scala.collection.immutable.List;
import scala.reflect.ClassTag$;

/**
 * The rows of native operators, in place of the RDD that Spark has for them. The native task ({@code rest.rs} of the
 * crate {@code catalyst}) makes it one in the stage's binary.
 */
final class NativeRows extends RDD<InternalRow> {
  private static final long serialVersionUID = 1;

  /** Not called: it comes out of object streams. */
  private NativeRows(List<Dependency<?>> none) {
    super((SparkContext) null, none, ClassTag$.MODULE$.apply(InternalRow.class));
  }

  /** Only drivers ask. */
  @Override
  public Partition[] getPartitions() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Iterator<InternalRow> compute(Partition split, TaskContext context) {
    return RestOfTask.of(context).rows();
  }
}
