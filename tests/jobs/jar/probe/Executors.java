package probe;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;

/** Jobs about the executor that runs them. */
public final class Executors {
  private Executors() {}

  private static void mark(String directory) throws IOException {
    Path file = Paths.get(directory, "task-" + TaskContext.getPartitionId());
    Files.write(file, new byte[] {'x'});
  }

  /** Two tasks that leave a mark each and cannot be stopped. */
  public static long stubborn(JavaSparkContext context, String directory) {
    return context.parallelize(Arrays.asList(0, 1), 2).map(i -> {
      mark(directory);
      long turns = 0;
      while (TaskContext.get() != null) {
        turns++;
      }
      return turns;
    }).count();
  }

  /** Two tasks that leave a mark each; how many of them see within a minute that their block manager is decommissioned. */
  public static long decommissioned(JavaSparkContext context, String directory) {
    return context.parallelize(Arrays.asList(0, 1), 2).filter(i -> {
      mark(directory);
      long deadline = System.nanoTime() + 60_000_000_000L;
      while (SparkEnv.get().blockManager().decommissioner().isEmpty()) {
        if (System.nanoTime() > deadline) {
          return false;
        }
        Thread.sleep(50);
      }
      return true;
    }).count();
  }
}
