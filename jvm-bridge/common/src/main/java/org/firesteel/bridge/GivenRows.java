package org.firesteel.bridge;

import java.nio.ByteBuffer;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import scala.collection.AbstractIterator;

/** Rows of a native operator. Each stays what it is when the next is asked for. */
final class GivenRows extends AbstractIterator<InternalRow> {
  private final Source source;
  private final int input;
  private final int columns;
  private ByteBuffer rows = ByteBuffer.allocate(0);

  /** Where rows of inputs are. */
  interface Source {
    /** Rows of an input, each behind its size; null after the last. */
    ByteBuffer rows(int input);
  }

  GivenRows(Source source, int input, int columns) {
    this.source = source;
    this.input = input;
    this.columns = columns;
  }

  @Override
  public boolean hasNext() {
    while (rows != null && !rows.hasRemaining()) {
      rows = source.rows(input);
    }
    return rows != null;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    int size = rows.getInt();
    UnsafeRow row = new UnsafeRow(columns);
    row.pointTo(rows.array(), Platform.BYTE_ARRAY_OFFSET + rows.arrayOffset() + rows.position(), size);
    rows.position(rows.position() + size);
    return row;
  }
}
