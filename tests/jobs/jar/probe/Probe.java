package probe;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.TreeSet;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockResult;
import org.apache.spark.storage.RDDBlockId;
import org.apache.spark.storage.StorageLevel;
import org.apache.spark.util.LongAccumulator;
import scala.Option;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Jobs whose closures are Java, called by the Python jobs through the driver's JVM. */
public final class Probe {
  private Probe() {}

  private static List<Integer> numbers(int count) {
    List<Integer> found = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      found.add(i);
    }
    return found;
  }

  /** The sum of squares below {@code count}, through a shuffle and an accumulator. */
  public static String squares(JavaSparkContext context, int count) {
    LongAccumulator seen = context.sc().longAccumulator("seen");
    long sum = context.parallelize(numbers(count), 4)
        .mapToPair(i -> { seen.add(1); return new scala.Tuple2<>(i % 10, (long) i * i); })
        .reduceByKey(Long::sum, 3).values().reduce(Long::sum);
    return sum + " of " + seen.value();
  }

  /** A job of {@code tasks} tasks that do next to nothing. */
  public static long tiny(JavaSparkContext context, int tasks) {
    return context.parallelize(numbers(tasks), tasks).count();
  }

  /** What a task sees around it: one line per task, the same for every executor. */
  public static List<String> surroundings(JavaSparkContext context) {
    return context.parallelize(numbers(4), 4).map(i -> {
      SparkEnv env = SparkEnv.get();
      BlockManager blocks = env.blockManager();
      TaskContext task = TaskContext.get();
      return String.join(" | ", new TreeSet<>(Arrays.asList(
          "block manager is the executor's: " + blocks.blockManagerId().executorId().equals(env.executorId()),
          "driver: " + blocks.blockManagerId().isDriver(),
          "host: " + blocks.blockManagerId().host(),
          "thread: " + Thread.currentThread().getName().replaceAll("\\d+", "n"),
          "daemon: " + Thread.currentThread().isDaemon(),
          "loader: " + Thread.currentThread().getContextClassLoader().getClass().getName(),
          "serializer: " + env.serializer().getClass().getName(),
          "memory: " + env.memoryManager().maxOnHeapStorageMemory(),
          "heap: " + Runtime.getRuntime().maxMemory(),
          "option: " + System.getProperty("e2e.option"),
          "command property: " + System.getProperty("spark.driver.port", "none").replaceAll("\\d+", "n"),
          "environment: " + System.getenv("E2E_VARIABLE"),
          "application: " + env.conf().get("spark.app.name"),
          "cores: " + env.conf().get("spark.executor.cores", "unset"),
          "user: " + org.apache.hadoop.security.UserGroupInformation.getCurrentUser().getUserName(),
          "attempt: " + task.attemptNumber(),
          "properties: " + task.getLocalProperty("spark.jobGroup.id"),
          "work dir: " + new java.io.File(".").getCanonicalFile().getParentFile().getName().replaceAll("\\d+", "n"),
          "metrics source: " + env.metricsSystem().getSourcesByName("executor").size())));
    }).collect();
  }

  /** "executor pid" of every executor. */
  public static List<String> processes(JavaSparkContext context) {
    return context.parallelize(numbers(16), 16).map(i -> {
      Thread.sleep(100);
      return SparkEnv.get().executorId() + " " + ProcessHandle.current().pid();
    }).distinct().collect();
  }

  /** Every task reads every block of a cached RDD, near or far: sizes and sums per task. */
  public static List<String> farBlocks(JavaSparkContext context, String level, int size) {
    JavaRDD<byte[]> cached = context.parallelize(numbers(4), 4).map(i -> {
      byte[] block = new byte[size + i];
      new java.util.Random(i).nextBytes(block);
      return block;
    }).persist(StorageLevel.fromString(level));
    cached.count();
    int id = cached.id();
    List<String> found = context.parallelize(numbers(4), 4).map(task -> {
      ClassTag<Object> tag = ClassTag$.MODULE$.apply(Object.class);
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < 4; i++) {
        Option<BlockResult> result = SparkEnv.get().blockManager().get(new RDDBlockId(id, i), tag);
        scala.collection.Iterator<Object> items = result.get().data();
        while (items.hasNext()) {
          byte[] block = (byte[]) items.next();
          line.append(block.length).append(':').append(Arrays.hashCode(block)).append(' ');
        }
      }
      return line.toString();
    }).collect();
    cached.unpersist(true);
    return found;
  }

  /** Fails on an executor with a cause. */
  public static long fails(JavaSparkContext context) {
    return context.parallelize(numbers(2), 2).map(i -> {
      if (i == 1) {
        throw new UnsupportedOperationException("wanted", new IllegalStateException("deeper"));
      }
      return i;
    }).count();
  }

  private static void write(Path file, String text) {
    try {
      Files.write(file, text.getBytes(), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /**
   * Tasks that leave a mark every 20 ms until somebody stops them, and say so: whether they are told first or
   * interrupted, while they sleep or while they write, is a matter of time.
   */
  public static long endless(JavaSparkContext context, String directory) {
    return context.parallelize(numbers(4), 4).map(i -> {
      Path file = Paths.get(directory, "jvm-" + i);
      try {
        while (!TaskContext.get().isInterrupted()) {
          write(file, "tick\n");
          Thread.sleep(20);
        }
      } finally {
        stopped(file);
      }
      return i;
    }).count();
  }

  private static void stopped(Path file) {
    Thread.interrupted();
    try {
      write(file, "stopped\n");
    } catch (UncheckedIOException interrupted) {
      Thread.interrupted();
      write(file, "stopped\n");
    }
  }

  /** Two stages; the second waits in each task until the file {@code gate} exists. */
  public static String gated(JavaSparkContext context, String directory) {
    List<scala.Tuple2<Integer, Integer>> found = new ArrayList<>(context.parallelize(numbers(1000), 4)
        .mapToPair(i -> new scala.Tuple2<>(i % 20, 1)).reduceByKey(Integer::sum, 4)
        .mapPartitionsToPair((Iterator<scala.Tuple2<Integer, Integer>> items) -> {
          write(Paths.get(directory, "at-gate-" + TaskContext.getPartitionId()), "x");
          while (!Files.exists(Paths.get(directory, "gate"))) {
            Thread.sleep(20);
          }
          return items;
        }).collect());
    found.sort(Collections.reverseOrder(java.util.Comparator.comparing(pair -> pair._1())));
    return found.toString();
  }
}
