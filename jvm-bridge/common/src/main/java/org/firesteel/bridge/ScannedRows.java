package org.firesteel.bridge;

import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** The rows of a partition of an RDD, which may give batches of columns in place of rows, as scans do. */
final class ScannedRows extends AbstractIterator<UnsafeRow> {
  private final Iterator<Object> elements;
  private final UnsafeProjection projection;
  private java.util.Iterator<InternalRow> batch;
  private InternalRow row;
  private long batches;

  ScannedRows(Iterator<Object> elements, StructType schema) {
    this.elements = elements;
    projection = UnsafeProjection.create(schema);
  }

  @Override
  public boolean hasNext() {
    while (row == null) {
      if (batch != null && batch.hasNext()) {
        row = batch.next();
        break;
      }
      batch = null;
      if (!elements.hasNext()) {
        return false;
      }
      Object next = elements.next();
      if (next instanceof ColumnarBatch) {
        batches++;
        batch = ((ColumnarBatch) next).rowIterator();
      } else {
        row = (InternalRow) next;
      }
    }
    return true;
  }

  @Override
  public UnsafeRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    InternalRow found = row;
    row = null;
    return found instanceof UnsafeRow ? (UnsafeRow) found : projection.apply(found);
  }

  /** How many batches of columns there were since this was asked last. */
  long batches() {
    long found = batches;
    batches = 0;
    return found;
  }
}
