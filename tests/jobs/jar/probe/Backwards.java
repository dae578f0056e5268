package probe;

import org.apache.spark.sql.api.java.UDF1;

/** A SQL function that reverses a string, and refuses "refuse". */
public final class Backwards implements UDF1<String, String> {
  @Override
  public String call(String text) {
    if (text.equals("refuse")) {
      throw new IllegalStateException("refused: " + text, new IllegalArgumentException("the cause of it"));
    }
    return new StringBuilder(text).reverse().toString();
  }
}
