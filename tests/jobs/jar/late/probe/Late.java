package probe;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;

/** A class that the executors learn about only after they started. */
public final class Late {
  private Late() {}

  public static List<String> run(JavaSparkContext context) {
    return context.parallelize(Arrays.asList("a", "b", "c"), 3).map(text -> text + " from the late jar").collect();
  }
}
