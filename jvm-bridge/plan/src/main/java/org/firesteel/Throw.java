package org.firesteel;

/** Spark's exceptions are checked for Java, but not declared by what Scala's methods override. */
final class Throw {
  private Throw() {}

  static RuntimeException unchecked(Throwable error) {
    throw Throw.<RuntimeException>as(error);
  }

  @SuppressWarnings("unchecked")
  private static <E extends Throwable> E as(Throwable error) throws E {
    throw (E) error;
  }
}
